#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "model/layers/token_mixer.h"

namespace draftlab {

// One layer of a drafter: the skeleton that all kinds of layers share, around a token mixer.
//   rows = [c ; norm(h, input_layernorm)],  h += mixer(rows),  h += mlp(norm(h,
//   post_attention_layernorm))
// with the gated MLP down(silu(gate(y)) * up(y)). Keeps what the backward pass needs.
class DecoderLayer {
 public:
  // The workspace outlives the layer.
  DecoderLayer(const DrafterConfig& config, int64_t index, Workspace& workspace);

  // Before a forward pass: the shapes of the inputs for T context rows and M block rows. The caller
  // then fills context() [T, H] and h() [M, H].
  void start(int64_t context_rows, int64_t block_rows);
  at::Tensor context() const { return rows_.slice(0, 0, context_rows_); }
  at::Tensor& h() { return h_; }

  // h_out [M, H] has its shape.
  void forward(const NamedTensors& parameters, const LayerBatch& batch, at::Tensor& h_out);
  // Takes d_h [M, H] from the gradient of the output to that of the input h; adds to d_c [T, H];
  // writes the gradients of the layer's parameters.
  void backward(const NamedTensors& parameters, const NamedTensors& gradients,
                const LayerBatch& batch, at::Tensor& d_h, at::Tensor& d_c);

  const TokenMixer& mixer() const { return *mixer_; }

 private:
  const int64_t index_, hidden_size_, intermediate_size_;
  const double eps_;
  Workspace& workspace_;
  std::unique_ptr<TokenMixer> mixer_;
  int64_t context_rows_ = 0;
  at::Tensor h_;                // [M, H] residual stream on entry
  at::Tensor rows_;             // [K, H] the context c, then norm(h)
  at::Tensor x_scale_;          // [M] 1/rms of h
  at::Tensor h_mid_;            // [M, H] h + mixer(rows)
  at::Tensor y_, y_scale_;      // [M, H] norm(h_mid), [M]
  at::Tensor gate_, up_, act_;  // [M, I]
};

}  // namespace draftlab
