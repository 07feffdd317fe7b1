#include "train/device.h"

#include <ATen/Context.h>

#include "base/error.h"

namespace draftlab {

void require_device(const std::string& device) {
  if (device != "cuda" || at::hasCUDA()) return;
  throw Error(
      "training.device",
      "is \"cuda\", but this build or machine has no CUDA device; build with scripts/build cuda "
      "where nvcc and a GPU are, or say \"cpu\"");
}

}  // namespace draftlab
