#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/drafter_config.h"

namespace draftlab {

// A whole number that layers of a kind read from the drafter's object. Kinds may share a key.
struct LayerOption {
  std::string key;
  int64_t low = 1;                       // at least this
  std::optional<int64_t> fallback = {};  // where the key is absent; with none of both: required
  std::string fallback_key = {};         // an earlier option, whose value is the default
};

// What a layer sees in one pass, in rows, on average where blocks differ.
struct LayerPass {
  double block_rows = 0;    // of all blocks
  double context_rows = 0;  // of all sequences
  double before = 0;        // context rows before a block's anchor
};

// What planning, reports and training must know of a kind of layer. A layer is a token mixer inside
// a skeleton that all kinds share (h += mixer(norm(h)); h += mlp(norm(h))); a kind describes the
// mixer, whose mathematics is in model/layers.
struct LayerKind {
  std::string name;  // in "layer_types"
  std::vector<LayerOption> options;
  // Throws Error where options do not fit together.
  void (*check)(const DrafterConfig& config, const Fields& fields);
  // The mixer's trained tensors, by their names behind "layers.{i}.".
  std::vector<ParameterShape> (*parameters)(const DrafterConfig& config);
  // Of the mixer's forward pass, a multiplication and an addition being two: products of matrices
  // and what grows with the context.
  double (*operations)(const DrafterConfig& config, const LayerPass& pass);
  // The weights of the norms that QK-clip makes smaller, names as above; empty: no scores to clip.
  std::string query_norm = {}, key_norm = {};
};

// Softmax attention of a block over the context before its anchor and over itself; the two differ
// in what a row sees (kernels/block_attention.h).
const LayerKind& full_attention();
const LayerKind& sliding_attention();
// A linear recurrence with a matrix as its state (Yang, Kautz and Hatamizadeh 2024), which every
// block goes on with from the state at its anchor (kernels/gated_delta_rule.h).
const LayerKind& gated_delta_net();

// All of the above, in the order in which errors list them.
const std::vector<const LayerKind*>& layer_kinds();
// Throws Error for an unknown name.
const LayerKind& layer_kind(const std::string& name, const std::string& where);
bool has_layer(const DrafterConfig& config, const LayerKind& kind);

}  // namespace draftlab
