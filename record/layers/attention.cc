// Layer types "full_attention" and "sliding_attention".
#include <algorithm>

#include "base/error.h"
#include "record/layers/layer_kind.h"

namespace draftlab {
namespace {

// W, which counts the query itself (SpecForge's convention).
LayerOption sliding_window(int64_t low) { return {"sliding_window", low, 0}; }

std::vector<LayerOption> options(int64_t lowest_window) {
  return {{"num_attention_heads"},                                // nh
          {"num_key_value_heads", 1, {}, "num_attention_heads"},  // nkv, divides nh
          {"head_dim", 2},                                        // hd, even
          sliding_window(lowest_window)};
}

void check(const DrafterConfig& config, const Fields& fields) {
  const int64_t heads = config.layer_option("num_attention_heads");
  const int64_t key_value_heads = config.layer_option("num_key_value_heads");
  if (heads % key_value_heads != 0) {
    throw Error(fields.where("num_key_value_heads"), "must divide num_attention_heads (" +
                                                         std::to_string(heads) + "), is " +
                                                         std::to_string(key_value_heads));
  }
  if (config.layer_option("head_dim") % 2 != 0)
    throw Error(fields.where("head_dim"), "must be even, for rotary positions");
  if (config.layer_option("sliding_window") != 0 && !has_layer(config, sliding_attention())) {
    throw Error(fields.where("sliding_window"),
                "is given, but no layer slides; remove it or name a "
                "\"sliding_attention\" layer in layer_types");
  }
}

int64_t queries(const DrafterConfig& config) {
  return config.layer_option("num_attention_heads") * config.layer_option("head_dim");
}
int64_t keys(const DrafterConfig& config) {
  return config.layer_option("num_key_value_heads") * config.layer_option("head_dim");
}

std::vector<ParameterShape> parameters(const DrafterConfig& config) {
  const int64_t hidden = config.hidden_size, dim = config.layer_option("head_dim");
  return {{"self_attn.k_norm.weight", {dim}},
          {"self_attn.k_proj.weight", {keys(config), hidden}, dim},
          {"self_attn.o_proj.weight", {hidden, queries(config)}},
          {"self_attn.q_norm.weight", {dim}},
          {"self_attn.q_proj.weight", {queries(config), hidden}, dim},
          {"self_attn.v_proj.weight", {keys(config), hidden}, dim}};
}

// `seen`: context rows that a block row sees.
double operations(const DrafterConfig& config, const LayerPass& pass, double seen) {
  const double h = static_cast<double>(config.hidden_size);
  const double q = static_cast<double>(queries(config)), k = static_cast<double>(keys(config));
  return 2 * pass.block_rows * (2 * h * q + 2 * h * k) + 2 * pass.context_rows * 2 * h * k +
         4 * pass.block_rows * (seen + static_cast<double>(config.block_size)) * q;
}

double full_operations(const DrafterConfig& config, const LayerPass& pass) {
  return operations(config, pass, pass.before);
}

double sliding_operations(const DrafterConfig& config, const LayerPass& pass) {
  const double window = static_cast<double>(config.layer_option("sliding_window"));
  return operations(config, pass, std::min(pass.before, window));
}

LayerKind kind(const std::string& name, int64_t lowest_window,
               double (*operations)(const DrafterConfig&, const LayerPass&)) {
  return {name,
          options(lowest_window),
          check,
          parameters,
          operations,
          "self_attn.q_norm.weight",
          "self_attn.k_norm.weight"};
}

}  // namespace

const LayerKind& full_attention() {
  static const LayerKind full = kind("full_attention", 0, full_operations);
  return full;
}

const LayerKind& sliding_attention() {
  static const LayerKind sliding = kind("sliding_attention", 1, sliding_operations);
  return sliding;
}

}  // namespace draftlab
