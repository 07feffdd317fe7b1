#include "record/drafter_config.h"

#include <algorithm>

#include "base/error.h"
#include "record/layers/layer_kind.h"

namespace draftlab {
namespace {

void check(const DrafterConfig& config, const Fields& fields) {
  const auto at_least = [&](int64_t value, int64_t low, const char* key) {
    require_at_least(static_cast<double>(value), static_cast<double>(low), fields.where(key));
  };
  at_least(config.hidden_size, 1, "hidden_size");
  at_least(config.intermediate_size, 1, "intermediate_size");
  at_least(config.block_size, 2, "block_size");
  at_least(config.vocab_size, 2, "vocab_size");
  require_above(config.rms_norm_eps, 0, fields.where("rms_norm_eps"));
  require_above(config.rope_theta, 0, fields.where("rope_theta"));
  require_above(config.initializer_range, 0, fields.where("initializer_range"));
  require_between(config.draft_vocab_size, 2, config.vocab_size, fields.where("draft_vocab_size"));
  for (const LayerKind* kind : layer_kinds())
    if (has_layer(config, *kind)) kind->check(config, fields);
}

// layer_types, and the options of the kinds that it names.
void read_layers(Fields& fields, DrafterConfig& config) {
  config.layer_types = fields.texts("layer_types");
  if (config.layer_types.empty())
    throw Error(fields.where("layer_types"), "is empty; name at least one layer");
  for (size_t i = 0; i < config.layer_types.size(); ++i) {
    layer_kind(config.layer_types[i],
               fields.where("layer_types") + "[" + std::to_string(i) + "]");  // or throw
  }
  for (const LayerKind* kind : layer_kinds()) {
    if (!has_layer(config, *kind)) continue;
    for (const LayerOption& option : kind->options) {
      const int64_t value =
          option.fallback_key != ""
              ? fields.integer(option.key, config.layer_option(option.fallback_key))
          : option.fallback ? fields.integer(option.key, *option.fallback)
                            : fields.integer(option.key);
      require_at_least(static_cast<double>(value), static_cast<double>(option.low),
                       fields.where(option.key));
      config.layer_options[option.key] = value;
    }
  }
  for (const LayerKind* kind : layer_kinds()) {
    for (const LayerOption& option : kind->options) {
      if (config.layer_options.contains(option.key) || !fields.has(option.key)) continue;
      throw Error(fields.where(option.key),
                  "is given, but no layer reads it; remove it or name a \"" + kind->name +
                      "\" layer in layer_types");
    }
  }
}

// The keys that sweep files and records share.
void read(Fields& fields, DrafterConfig& config) {
  config.hidden_size = fields.integer("hidden_size");
  config.intermediate_size = fields.integer("intermediate_size");
  read_layers(fields, config);
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
  JsonObject object = {
      {"hidden_size", config.hidden_size},
      {"intermediate_size", config.intermediate_size},
      {"layer_types", JsonArray(config.layer_types.begin(), config.layer_types.end())},
      {"block_size", config.block_size},
      {"vocab_size", config.vocab_size},
      {"draft_vocab_size", config.draft_vocab_size},
      {"mask_token_id", config.mask_token_id},
      {"num_taps", config.num_taps},
      {"rms_norm_eps", config.rms_norm_eps},
      {"rope_theta", config.rope_theta},
      {"initializer_range", config.initializer_range}};
  for (const auto& [key, value] : config.layer_options) object[key] = value;
  return object;
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
    for (ParameterShape& shape :
         layer_kind(config.layer_types[i], "layer_types").parameters(config)) {
      shape.name.insert(0, layer);
      shapes.push_back(std::move(shape));
    }
  }
  std::sort(shapes.begin(), shapes.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return shapes;
}

}  // namespace draftlab
