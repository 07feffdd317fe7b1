#include "target_model/checkpoint.h"

#include "base/error.h"

namespace draftlab {
namespace {

// Before anything is computed from these numbers: memory taken, rows permuted.
void check_sizes(const TargetCheckpoint& target) {
  const TransformerConfig& c = target.config;
  target.weights->require("model.embed_tokens.weight", {c.vocab_size, c.hidden_size});
  if (!c.tied) target.weights->require("lm_head.weight", {c.vocab_size, c.hidden_size});
  for (const int64_t layer : {int64_t{0}, c.layers - 1}) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    target.weights->require(prefix + "self_attn.q_proj.weight",
                            {c.heads * c.head_dim, c.hidden_size});
    target.weights->require(prefix + "self_attn.k_proj.weight",
                            {c.kv_heads * c.head_dim, c.hidden_size});
    target.weights->require(prefix + "mlp.gate_proj.weight", {c.intermediate_size, c.hidden_size});
  }
}

TargetCheckpoint open_unchecked(const TargetSource& source) {
  if (source.format == "gguf") return open_gguf(source.path);
  if (source.format == "huggingface") return open_huggingface(source.path);
  if (source.format == "made_up") return make_up_target(source.made_up);
  throw Error(source.path.string(), "has the unknown target format '" + source.format + "'");
}

}  // namespace

TargetCheckpoint open_target(const TargetSource& source) {
  TargetCheckpoint target = open_unchecked(source);
  check_sizes(target);
  return target;
}

}  // namespace draftlab
