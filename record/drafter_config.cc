#include "record/drafter_config.h"

#include <algorithm>

#include "base/error.h"

namespace draftlab {
namespace {

void check(const DrafterConfig& config, const Fields& fields) {
  const auto at_least = [&](int64_t value, int64_t low, const char* key) {
    require_at_least(static_cast<double>(value), static_cast<double>(low), fields.where(key));
  };
  at_least(config.hidden_size, 1, "hidden_size");
  at_least(config.intermediate_size, 1, "intermediate_size");
  at_least(config.num_attention_heads, 1, "num_attention_heads");
  at_least(config.num_key_value_heads, 1, "num_key_value_heads");
  at_least(config.head_dim, 2, "head_dim");
  at_least(config.block_size, 2, "block_size");
  at_least(config.vocab_size, 2, "vocab_size");
  require_above(config.rms_norm_eps, 0, fields.where("rms_norm_eps"));
  require_above(config.rope_theta, 0, fields.where("rope_theta"));
  require_above(config.initializer_range, 0, fields.where("initializer_range"));
  require_between(config.draft_vocab_size, 2, config.vocab_size, fields.where("draft_vocab_size"));
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    throw Error(fields.where("num_key_value_heads"),
                "must divide num_attention_heads (" + std::to_string(config.num_attention_heads) +
                    "), is " + std::to_string(config.num_key_value_heads));
  }
  if (config.head_dim % 2 != 0)
    throw Error(fields.where("head_dim"), "must be even, for rotary positions");
  if (config.layer_types.empty())
    throw Error(fields.where("layer_types"), "is empty; name at least one layer");
  for (size_t i = 0; i < config.layer_types.size(); ++i) {
    require_one_of(config.layer_types[i], {"full_attention", "sliding_attention"},
                   fields.where("layer_types") + "[" + std::to_string(i) + "]");
  }
  const bool slides =
      std::count(config.layer_types.begin(), config.layer_types.end(), "sliding_attention") > 0;
  if (slides) at_least(config.sliding_window, 1, "sliding_window");
  if (!slides && config.sliding_window != 0) {
    throw Error(fields.where("sliding_window"),
                "is given, but no layer slides; remove it or name a "
                "\"sliding_attention\" layer in layer_types");
  }
}

// The keys that sweep files and records share.
void read(Fields& fields, DrafterConfig& config) {
  config.hidden_size = fields.integer("hidden_size");
  config.intermediate_size = fields.integer("intermediate_size");
  config.num_attention_heads = fields.integer("num_attention_heads");
  config.num_key_value_heads = fields.integer("num_key_value_heads", config.num_attention_heads);
  config.head_dim = fields.integer("head_dim");
  config.layer_types = fields.texts("layer_types");
  config.sliding_window = fields.integer("sliding_window", 0);
  config.block_size = fields.integer("block_size");
  config.vocab_size = fields.integer("vocab_size");
  config.draft_vocab_size = fields.integer("draft_vocab_size", config.vocab_size);
  config.rms_norm_eps = fields.number("rms_norm_eps", config.rms_norm_eps);
  config.rope_theta = fields.number("rope_theta", config.rope_theta);
  config.initializer_range = fields.number("initializer_range", config.initializer_range);
}

}  // namespace

DrafterConfig parse_drafter_config(const Json& value, const std::string& where,
                                   int64_t mask_token_id, int64_t num_taps) {
  DrafterConfig config;
  Fields fields(value, where);
  read(fields, config);
  fields.finish();
  check(config, fields);
  config.mask_token_id = mask_token_id;
  config.num_taps = num_taps;
  if (mask_token_id < 0 || mask_token_id >= config.vocab_size) {
    throw Error(fields.where("vocab_size"), "is " + std::to_string(config.vocab_size) +
                                                ", but the store's mask_token_id is " +
                                                std::to_string(mask_token_id));
  }
  return config;
}

JsonObject to_json(const DrafterConfig& config) {
  return {{"hidden_size", config.hidden_size},
          {"intermediate_size", config.intermediate_size},
          {"num_attention_heads", config.num_attention_heads},
          {"num_key_value_heads", config.num_key_value_heads},
          {"head_dim", config.head_dim},
          {"layer_types", JsonArray(config.layer_types.begin(), config.layer_types.end())},
          {"sliding_window", config.sliding_window},
          {"block_size", config.block_size},
          {"vocab_size", config.vocab_size},
          {"draft_vocab_size", config.draft_vocab_size},
          {"mask_token_id", config.mask_token_id},
          {"num_taps", config.num_taps},
          {"rms_norm_eps", config.rms_norm_eps},
          {"rope_theta", config.rope_theta},
          {"initializer_range", config.initializer_range}};
}

DrafterConfig drafter_config_from_json(const Json& value, const std::string& where) {
  DrafterConfig config;
  Fields fields(value, where);
  read(fields, config);
  config.mask_token_id = fields.integer("mask_token_id");
  config.num_taps = fields.integer("num_taps");
  fields.finish();
  check(config, fields);
  return config;
}

int64_t ParameterShape::count() const {
  int64_t count = 1;
  for (int64_t side : shape) count *= side;
  return count;
}

std::vector<ParameterShape> parameter_shapes(const DrafterConfig& config) {
  const int64_t hidden = config.hidden_size;
  const int64_t queries = config.num_attention_heads * config.head_dim;
  const int64_t keys = config.num_key_value_heads * config.head_dim;
  std::vector<ParameterShape> shapes = {{"fc.weight", {hidden, config.num_taps * hidden}},
                                        {"hidden_norm.weight", {hidden}},
                                        {"norm.weight", {hidden}}};
  for (int64_t i = 0; i < config.num_hidden_layers(); ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    shapes.push_back({layer + "input_layernorm.weight", {hidden}});
    shapes.push_back({layer + "mlp.down_proj.weight", {hidden, config.intermediate_size}});
    shapes.push_back({layer + "mlp.gate_proj.weight", {config.intermediate_size, hidden}});
    shapes.push_back({layer + "mlp.up_proj.weight", {config.intermediate_size, hidden}});
    shapes.push_back({layer + "post_attention_layernorm.weight", {hidden}});
    shapes.push_back({layer + "self_attn.k_norm.weight", {config.head_dim}});
    shapes.push_back({layer + "self_attn.k_proj.weight", {keys, hidden}, config.head_dim});
    shapes.push_back({layer + "self_attn.o_proj.weight", {hidden, queries}});
    shapes.push_back({layer + "self_attn.q_norm.weight", {config.head_dim}});
    shapes.push_back({layer + "self_attn.q_proj.weight", {queries, hidden}, config.head_dim});
    shapes.push_back({layer + "self_attn.v_proj.weight", {keys, hidden}, config.head_dim});
  }
  std::sort(shapes.begin(), shapes.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return shapes;
}

}  // namespace draftlab
