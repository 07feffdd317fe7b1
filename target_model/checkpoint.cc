#include "target_model/checkpoint.h"

#include "base/error.h"

namespace draftlab {

TargetCheckpoint open_target(const TargetSource& source) {
  if (source.format == "gguf") return open_gguf(source.path);
  if (source.format == "huggingface") return open_huggingface(source.path);
  if (source.format == "made_up") return make_up_target(source.made_up);
  throw Error(source.path.string(), "has the unknown target format '" + source.format + "'");
}

}  // namespace draftlab
