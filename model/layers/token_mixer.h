#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/block_layout.h"
#include "kernels/named_tensors.h"
#include "model/workspace.h"
#include "record/drafter_config.h"

namespace draftlab {

// What layers see of a batch beside their rows: T context rows, then M = N*B block rows, K = T + M
// in all.
struct LayerBatch {
  BlockLayout layout;
  const std::vector<int64_t>& positions;        // [K] of each row in its sequence
  const std::vector<int64_t>& block_positions;  // [M] the last M of them

  int64_t context_rows() const { return layout.context_rows(); }
  int64_t block_rows() const { return layout.query_rows(); }
};

// The tensors of one layer, its weights or their gradients, by their names behind "layers.{i}.".
class LayerTensors {
 public:
  LayerTensors(const NamedTensors& all, int64_t layer)
      : all_(all), prefix_("layers." + std::to_string(layer) + ".") {}
  at::Tensor operator()(const std::string& name) const { return all_.at(prefix_ + name); }

 private:
  const NamedTensors& all_;
  std::string prefix_;
};

// The part of a layer that looks at other rows; its kind is described in record/layers. One object
// for each layer of a drafter: it keeps what the forward pass leaves for the backward pass.
// Deterministic for a number of threads.
class TokenMixer {
 public:
  virtual ~TokenMixer() = default;
  // h_out [M, H] = h [M, H] + mixer(rows [K, H]). `rows` stay as they are until backward().
  virtual void forward(const LayerTensors& weights, const LayerBatch& batch, const at::Tensor& rows,
                       const at::Tensor& h, at::Tensor& h_out) = 0;
  // From d_out [M, H], the gradient of h_out: writes d_rows [K, H] and the gradient of each of its
  // weights.
  virtual void backward(const LayerTensors& weights, const LayerTensors& gradients,
                        const LayerBatch& batch, const at::Tensor& rows, const at::Tensor& d_out,
                        at::Tensor& d_rows) = 0;
  // Of the last forward pass: the largest attention score by query head [nh], scale included.
  // Undefined for a mixer without scores.
  virtual at::Tensor largest_scores() const { return {}; }
};

// `type` as in layer_types; throws Error for an unknown one. The workspace outlives the mixer.
std::unique_ptr<TokenMixer> make_token_mixer(const std::string& type, const DrafterConfig& config,
                                             Workspace& workspace);

// One function a family of kinds, for the table of make_token_mixer.
std::unique_ptr<TokenMixer> make_full_attention(const DrafterConfig& config, Workspace& workspace);
std::unique_ptr<TokenMixer> make_sliding_attention(const DrafterConfig& config,
                                                   Workspace& workspace);
std::unique_ptr<TokenMixer> make_gated_delta_net(const DrafterConfig& config, Workspace& workspace);

}  // namespace draftlab
