#include "target_model/frozen.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace draftlab {

TargetSource target_source_of(const StoreManifest& manifest) {
  TargetSource source;
  const Json& target = manifest.specification.at("target");
  source.format = std::string(target.at("format").as_string());
  source.path = manifest.target_file;
  if (source.format == "made_up")
    source = parse_target_source(target, "manifest.json: specification.target", "");
  return source;
}

TargetCheckpoint open_target_of(const StoreManifest& manifest) {
  const TargetSource source = target_source_of(manifest);
  TargetCheckpoint checkpoint = open_target(source);
  if (checkpoint.sha256 != manifest.target_sha256) {
    throw Error(source.path.string(),
                "is not the target that this store was made with (its SHA-256 is " +
                    checkpoint.sha256 + ", the store says " + manifest.target_sha256 +
                    "); put the old file back, or build the store again");
  }
  return checkpoint;
}

FrozenTensors load_frozen(const StoreManifest& manifest) {
  TargetCheckpoint checkpoint = open_target_of(manifest);
  const TransformerConfig& c = checkpoint.config;
  const auto read = [&](const char* name) {
    at::Tensor tensor = at::empty({c.vocab_size, c.hidden_size});
    checkpoint.weights->read(name, {c.vocab_size, c.hidden_size}, tensor.data_ptr<float>());
    return tensor;
  };
  FrozenTensors frozen;
  frozen.embedding = read("model.embed_tokens.weight");
  frozen.head = c.tied ? frozen.embedding : read("lm_head.weight");
  return frozen;
}

}  // namespace draftlab
