#include "target_model/checkpoint.h"

#include "base/error.h"
#include "base/json.h"

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

void check_config(const TransformerConfig& c, const std::string& where) {
  constexpr double kMost = 1 << 24;  // products of two fit 64 bits, and of a third
  const auto check = [&](const char* name, int64_t value, double low = 1) {
    require_between(static_cast<double>(value), low, kMost, where + ": " + name);
  };
  check("number of layers", c.layers);
  check("hidden size", c.hidden_size);
  check("number of heads", c.heads);
  check("number of key and value heads", c.kv_heads);
  check("head_dim", c.head_dim, 2);
  check("intermediate size", c.intermediate_size);
  check("vocabulary", c.vocab_size);
  check("context length", c.context_length);
  if (c.heads % c.kv_heads != 0)
    throw Error(where, "number of heads must be a multiple of that of key and value heads");
  if (c.head_dim % 2 != 0) throw Error(where, "head_dim must be even, for the rotation");
  if (!(c.rms_norm_eps >= 0 && c.rms_norm_eps < 1))
    throw Error(where, "epsilon of the norms must lie between 0 and 1");
  if (!(c.rope_theta > 0 && c.rope_theta < 1e18))
    throw Error(where, "base of the rotation must be above 0");
}

}  // namespace draftlab
