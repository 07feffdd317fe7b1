#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace draftlab {

// A DFlash 1 drafter as plain data. Field names and meanings are those of Hugging Face's
// config.json of published DFlash drafters, so that a team can paste theirs into a sweep file.
struct DrafterConfig {
  int64_t hidden_size = 0;  // H; also the width of one tap and of the frozen embedding and head
  int64_t intermediate_size = 0;         // I
  std::vector<std::string> layer_types;  // names of layer_kinds(), one for each layer
  // What the kinds of these layers read of the same object, by key: "head_dim", "sliding_window",
  // ... (record/layers). Keys of kinds that no layer is of are absent.
  std::map<std::string, int64_t> layer_options = {};
  int64_t block_size = 0;        // B, the anchor's slot included; at least 2
  int64_t vocab_size = 0;        // V of the target
  int64_t draft_vocab_size = 0;  // V_d <= V; V where the drafter keeps the whole vocabulary
  int64_t mask_token_id = 0;     // embedded in slots 1..B-1
  int64_t num_taps = 0;          // L_t, tapped target layers
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000;
  double initializer_range = 0.02;  // standard deviation of every initial matrix

  int64_t num_hidden_layers() const { return static_cast<int64_t>(layer_types.size()); }
  // REQUIRES: a layer's kind has this option.
  int64_t layer_option(const std::string& key) const { return layer_options.at(key); }
};

// Reads the keys above and those of the layers' kinds (draft_vocab_size defaults to vocab_size;
// mask_token_id and num_taps come from the store, not from this object). Unknown keys and
// impossible values are errors that name the key.
DrafterConfig parse_drafter_config(const Json& value, const std::string& where,
                                   int64_t mask_token_id, int64_t num_taps);
JsonObject to_json(const DrafterConfig& config);
// Reads back what to_json wrote (all keys present).
DrafterConfig drafter_config_from_json(const Json& value, const std::string& where);

class Random;

struct ParameterShape {
  std::string name;
  std::vector<int64_t> shape;  // PyTorch layout: [out, in] for a matrix
  int64_t head_rows = 0;       // rows of one attention head, for q_proj, k_proj and v_proj; else 0
  bool decays = true;          // false: no weight decay, whatever the optimizer's is
  // One initial value from the tensor's own stream. Empty: normal(0, initializer_range) for a
  // matrix, 1 for any other tensor.
  std::function<double(Random&)> initial = {};
  int64_t count() const;
};

// The trained tensors of a drafter, sorted by name: fc.weight [H, L_t*H], hidden_norm.weight [H],
// layers.{i}.... (those of the skeleton and of the layer's kind), norm.weight [H]
// (docs/drafter.md). The embedding and the head are the target's, frozen.
std::vector<ParameterShape> parameter_shapes(const DrafterConfig& config);

}  // namespace draftlab
