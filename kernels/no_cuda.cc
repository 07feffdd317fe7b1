// Stands in for the CUDA files where CUDA is off.
#include "base/error.h"
#include "kernels/adamw_step.h"
#include "kernels/cuda_libraries.h"

namespace draftlab {

void adamw_step_cuda(float*, const float*, float*, float*, int64_t, const AdamWStep&, void*) {
  throw Error("adamw_step_cuda", "built without CUDA; configure with the preset cuda");
}

std::string cuda_libraries() { return "none"; }

}  // namespace draftlab
