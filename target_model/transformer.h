#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "target_model/checkpoint.h"
#include "target_model/frozen_linear.h"
#include "target_model/key_value_cache.h"

namespace draftlab {

// All float32 and contiguous, [out, in]. Matrices that share their input are one, so that a step
// has four matrix products per layer.
struct DecoderLayerWeights {
  at::Tensor input_norm, post_norm;  // [H]
  at::Tensor qkv;                    // [(heads + 2 kv_heads) * head_dim, H], q above k above v
  at::Tensor qkv_bias;               // [(heads + 2 kv_heads) * head_dim]; undefined without bias
  at::Tensor q_norm, k_norm;         // [head_dim]; undefined without these norms
  at::Tensor output;                 // [H, heads * head_dim]
  at::Tensor gate_up;                // [2 I, H], gate above up
  at::Tensor down;                   // [H, I]
};

struct TransformerWeights {
  at::Tensor embedding;   // [V, H]
  at::Tensor head;        // [V, H]; the embedding itself if tied
  at::Tensor final_norm;  // [H]
  std::vector<DecoderLayerWeights> layers;
};

// Reads all weights of a checkpoint. Throws Error if one is missing or not understood.
TransformerWeights load_weights(TargetCheckpoint& checkpoint);

// One token of one sequence.
struct TokenRow {
  int64_t sequence = 0;  // index into the cache
  int64_t position = 0;  // from 0
  int32_t token = 0;
  // Of a tree of drafts: the row before it in this pass that it follows, which is at the position
  // before. It sees its ancestors and what the topmost of them sees, and no other branch. -1: the
  // row follows the position before it, whoever wrote that.
  int64_t parent = -1;
};

// The forward pass of a frozen target: any mixture of rows of any sequences at once, without
// padding. float32 throughout. Deterministic for the same rows and number of threads. Not
// thread-safe.
class Transformer {
 public:
  // Takes the matrices one by one; memory for two copies is needed only if they are packed and the
  // caller keeps `weights`. With row-wise products no row's bits depend on the other rows of a
  // pass.
  Transformer(TransformerConfig config, TransformerWeights weights,
              Products products = Products::kPacked);
  const TransformerConfig& config() const { return config_; }

  // Called with the output of every decoder layer (0-based), [R, H]: the residual stream behind it,
  // before any later norm. Valid during the call.
  using LayerOutput = std::function<void(int64_t layer, const at::Tensor& hidden)>;

  // Runs rows whose sequence's earlier positions are in `cache` or earlier in `rows`, and adds
  // theirs to the cache; rows with a parent leave the positions from their root on undefined there
  // until keep_path(). A row's bits are those that it would have alone behind its ancestors.
  // Returns [R, H] behind the final norm.
  at::Tensor forward(KeyValueCache& cache, std::span<const TokenRow> rows,
                     const LayerOutput& on_layer = {});

  // Puts one of the paths of the last pass, whose rows these were, into the cache: `last` and its
  // ancestors that have a parent.
  void keep_path(KeyValueCache& cache, std::span<const TokenRow> rows, int64_t last);

  // [R, V] for [R, H] behind the final norm.
  at::Tensor logits(const at::Tensor& hidden) const { return (*head_)(hidden); }

 private:
  struct Layer {
    at::Tensor input_norm, post_norm, q_norm, k_norm;
    std::unique_ptr<FrozenLinear> qkv, output, gate_up, down;
  };

  at::Tensor attention(KeyValueCache& cache, std::span<const TokenRow> rows, int64_t layer,
                       const at::Tensor& qkv) const;
  void attend_to_paths(KeyValueCache& cache, std::span<const TokenRow> rows, int64_t layer,
                       const at::Tensor& qkv, const at::Tensor& mixed) const;
  void grow_rotations(int64_t positions);

  TransformerConfig config_;
  at::Tensor embedding_, final_norm_;
  std::unique_ptr<FrozenLinear> head_;
  std::vector<Layer> layers_;
  std::vector<at::Tensor> branches_;    // [layers] qkv of the last pass, if it was over a tree
  std::vector<float> cosines_, sines_;  // [positions, head_dim / 2]
};

}  // namespace draftlab
