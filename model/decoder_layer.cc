#include "model/decoder_layer.h"

#include <ATen/ATen.h>

#include "kernels/rms_norm.h"
#include "kernels/swiglu.h"
#include "model/linear.h"

namespace draftlab {

DecoderLayer::DecoderLayer(const DrafterConfig& config, int64_t index, Workspace& workspace)
    : index_(index),
      hidden_size_(config.hidden_size),
      intermediate_size_(config.intermediate_size),
      eps_(config.rms_norm_eps),
      workspace_(workspace),
      mixer_(make_token_mixer(config.layer_types[index], config, workspace)) {}

void DecoderLayer::start(int64_t context_rows, int64_t block_rows) {
  context_rows_ = context_rows;
  const int64_t M = block_rows, H = hidden_size_, I = intermediate_size_;
  const auto size = [&](std::initializer_list<at::Tensor*> buffers, at::IntArrayRef sizes) {
    for (at::Tensor* buffer : buffers) shape(*buffer, sizes, workspace_.options());
  };
  size({&h_, &h_mid_, &y_}, {M, H});
  size({&rows_}, {context_rows + M, H});
  size({&x_scale_, &y_scale_}, {M});
  size({&gate_, &up_, &act_}, {M, I});
}

void DecoderLayer::forward(const NamedTensors& parameters, const LayerBatch& batch,
                           at::Tensor& h_out) {
  const LayerTensors weights(parameters, index_);
  rms_norm(h_, weights("input_layernorm.weight"), eps_, rows_.slice(0, context_rows_), x_scale_);
  mixer_->forward(weights, batch, rows_, h_, h_mid_);
  rms_norm(h_mid_, weights("post_attention_layernorm.weight"), eps_, y_, y_scale_);
  linear(y_, weights("mlp.gate_proj.weight"), gate_);
  linear(y_, weights("mlp.up_proj.weight"), up_);
  swiglu(gate_, up_, act_);
  at::addmm_out(h_out, h_mid_, act_, weights("mlp.down_proj.weight").t());
}

void DecoderLayer::backward(const NamedTensors& parameters, const NamedTensors& gradients,
                            const LayerBatch& batch, at::Tensor& d_h, at::Tensor& d_c) {
  const LayerTensors weights(parameters, index_), d(gradients, index_);
  at::Tensor& d_act = workspace_.tensor("layer.d_act", act_.sizes());
  at::Tensor& d_gate = workspace_.tensor("layer.d_gate", gate_.sizes());
  at::Tensor& d_up = workspace_.tensor("layer.d_up", up_.sizes());
  at::Tensor& d_y = workspace_.tensor("layer.d_y", y_.sizes());
  at::Tensor& d_rows = workspace_.tensor("layer.d_rows", rows_.sizes());
  // h_out = h_mid + down(swiglu(gate(y), up(y)))
  linear_weight_gradient(d_h, act_, d("mlp.down_proj.weight"));
  linear_input_gradient(d_h, weights("mlp.down_proj.weight"), d_act);
  swiglu_backward(d_act, gate_, up_, d_gate, d_up);
  linear_weight_gradient(d_gate, y_, d("mlp.gate_proj.weight"));
  linear_weight_gradient(d_up, y_, d("mlp.up_proj.weight"));
  linear_input_gradient(d_gate, weights("mlp.gate_proj.weight"), d_y);
  linear_input_gradient(d_up, weights("mlp.up_proj.weight"), d_y, /*accumulate=*/true);
  rms_norm_backward(d_y, h_mid_, weights("post_attention_layernorm.weight"), y_scale_, d_h,
                    /*accumulate=*/true, d("post_attention_layernorm.weight"));
  // h_mid = h + mixer(rows)
  mixer_->backward(weights, d, batch, rows_, d_h, d_rows);
  d_c.add_(d_rows.slice(0, 0, context_rows_));
  rms_norm_backward(d_rows.slice(0, context_rows_), h_, weights("input_layernorm.weight"), x_scale_,
                    d_h, /*accumulate=*/true, d("input_layernorm.weight"));
}

}  // namespace draftlab
