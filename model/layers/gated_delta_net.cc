// Layer type "gated_delta_net" (Yang, Kautz and Hatamizadeh 2024), as Hugging Face's Qwen3.5 has
// it.
#include <ATen/ATen.h>

#include <cmath>

#include "kernels/causal_convolution.h"
#include "kernels/delta_gates.h"
#include "kernels/gated_delta_rule.h"
#include "kernels/gated_rms_norm.h"
#include "kernels/l2_norm.h"
#include "model/layers/token_mixer.h"
#include "model/linear.h"

namespace draftlab {
namespace {

constexpr double kNormEps = 1e-6;  // of the lengths of queries and keys, as the sources have it

class GatedDeltaNet : public TokenMixer {
 public:
  GatedDeltaNet(const DrafterConfig& config, Workspace& workspace)
      : heads_{config.layer_option("linear_num_key_heads"),
               config.layer_option("linear_num_value_heads"),
               config.layer_option("linear_key_head_dim"),
               config.layer_option("linear_value_head_dim")},
        keys_(heads_.key * heads_.key_dim),
        values_(heads_.value * heads_.value_dim),
        query_scale_(1 / std::sqrt(static_cast<double>(heads_.key_dim))),
        eps_(config.rms_norm_eps),
        workspace_(workspace) {}

  void forward(const LayerTensors& weights, const LayerBatch& batch, const at::Tensor& rows,
               const at::Tensor& h, at::Tensor& h_out) override {
    start(batch);
    const at::Tensor block_rows = rows.slice(0, batch.context_rows());
    linear(rows, weights("linear_attn.in_proj_qkv.weight"), projected_);
    causal_convolution(projected_, taps(weights), batch.layout, qkv_);
    const auto [q, k, v] = parts(qkv_, batch);
    l2_norm(q, query_scale_, kNormEps, q, q_scale_);
    l2_norm(k, 1, kNormEps, k, k_scale_);
    linear(rows, weights("linear_attn.in_proj_a.weight"), a_);
    linear(rows, weights("linear_attn.in_proj_b.weight"), beta_);
    delta_gates(a_, beta_, weights("linear_attn.A_log"), weights("linear_attn.dt_bias"), g_, beta_);
    gated_delta_rule(q, k, v, g_, beta_, batch.layout, heads_, mixed_, memory_);
    linear(block_rows, weights("linear_attn.in_proj_z.weight"), z_);
    gated_rms_norm(mixed_, z_, weights("linear_attn.norm.weight"), eps_, y_, y_scale_);
    at::addmm_out(h_out, h, y_, weights("linear_attn.out_proj.weight").t());
  }

  void backward(const LayerTensors& weights, const LayerTensors& gradients, const LayerBatch& batch,
                const at::Tensor& rows, const at::Tensor& d_out, at::Tensor& d_rows) override {
    const auto tensor = [&](const char* name, const at::Tensor& like) -> at::Tensor& {
      return workspace_.tensor(std::string("gated_delta_net.") + name, like.sizes());
    };
    at::Tensor &d_mixed = tensor("d_mixed", mixed_), &dz = tensor("dz", z_);
    at::Tensor &d_qkv = tensor("d_qkv", qkv_), &d_projected = tensor("d_projected", qkv_);
    at::Tensor &dg = tensor("dg", g_), &d_beta = tensor("d_beta", beta_);
    const int64_t T = batch.context_rows();
    const at::Tensor block_rows = rows.slice(0, T);
    linear_weight_gradient(d_out, y_, gradients("linear_attn.out_proj.weight"));
    linear_input_gradient(d_out, weights("linear_attn.out_proj.weight"), d_mixed);
    gated_rms_norm_backward(d_mixed, mixed_, z_, weights("linear_attn.norm.weight"), y_scale_,
                            d_mixed, dz, gradients("linear_attn.norm.weight"));
    const auto [q, k, v] = parts(qkv_, batch);
    const auto [dq, dk, dv] = parts(d_qkv, batch);
    d_qkv.slice(0, 0, T).slice(1, 0, keys_).zero_();  // context rows have no queries
    gated_delta_rule_backward(d_mixed, q, k, v, g_, beta_, mixed_, memory_, batch.layout, heads_,
                              dq, dk, dv, dg, d_beta);
    l2_norm_backward(dq, q, query_scale_, q_scale_, dq);
    l2_norm_backward(dk, k, 1, k_scale_, dk);
    causal_convolution_backward(d_qkv, projected_, taps(weights), batch.layout, d_projected,
                                taps(gradients));
    at::Tensor &da = dg, &db = d_beta;
    delta_gates_backward(dg, d_beta, a_, weights("linear_attn.A_log"),
                         weights("linear_attn.dt_bias"), g_, beta_, da, db,
                         gradients("linear_attn.A_log"), gradients("linear_attn.dt_bias"));
    linear_weight_gradient(d_projected, rows, gradients("linear_attn.in_proj_qkv.weight"));
    linear_weight_gradient(da, rows, gradients("linear_attn.in_proj_a.weight"));
    linear_weight_gradient(db, rows, gradients("linear_attn.in_proj_b.weight"));
    linear_weight_gradient(dz, block_rows, gradients("linear_attn.in_proj_z.weight"));
    linear_input_gradient(d_projected, weights("linear_attn.in_proj_qkv.weight"), d_rows);
    linear_input_gradient(da, weights("linear_attn.in_proj_a.weight"), d_rows, /*accumulate=*/true);
    linear_input_gradient(db, weights("linear_attn.in_proj_b.weight"), d_rows, /*accumulate=*/true);
    linear_input_gradient(dz, weights("linear_attn.in_proj_z.weight"), d_rows.slice(0, T),
                          /*accumulate=*/true);
  }

 private:
  // Queries [M, nk*dk] of the block rows, keys [K, nk*dk] and values [K, nv*dv]: columns of [K, D].
  struct Parts {
    at::Tensor q, k, v;
  };
  Parts parts(const at::Tensor& qkv, const LayerBatch& batch) const {
    return {qkv.slice(0, batch.context_rows()).slice(1, 0, keys_), qkv.slice(1, keys_, 2 * keys_),
            qkv.slice(1, 2 * keys_)};
  }

  // conv1d.weight [D, 1, taps] as [D, taps].
  static at::Tensor taps(const LayerTensors& tensors) {
    return tensors("linear_attn.conv1d.weight").squeeze(1);
  }

  // The shapes of what the forward pass keeps.
  void start(const LayerBatch& batch) {
    const int64_t M = batch.block_rows(), K = batch.context_rows() + M;
    const auto size = [&](std::initializer_list<at::Tensor*> buffers, at::IntArrayRef sizes) {
      for (at::Tensor* buffer : buffers) shape(*buffer, sizes, workspace_.options());
    };
    size({&projected_, &qkv_}, {K, 2 * keys_ + values_});
    size({&q_scale_}, {M, heads_.key});
    size({&k_scale_}, {K, heads_.key});
    size({&a_, &g_, &beta_}, {K, heads_.value});
    size({&z_, &mixed_, &y_}, {M, values_});
    size({&y_scale_}, {M, heads_.value});
  }

  const DeltaHeads heads_;
  const int64_t keys_, values_;  // nk*dk, nv*dv; D = 2*keys + values
  const double query_scale_, eps_;
  Workspace& workspace_;
  at::Tensor projected_, qkv_;    // [K, D] before and after the convolution, q and k normed
  at::Tensor q_scale_, k_scale_;  // [M, nk], [K, nk] 1/length
  at::Tensor a_, g_, beta_;       // [K, nv]
  DeltaRuleMemory memory_;
  at::Tensor mixed_, z_;    // [M, nv*dv]
  at::Tensor y_, y_scale_;  // [M, nv*dv] normed and gated, [M, nv]
};

}  // namespace

std::unique_ptr<TokenMixer> make_gated_delta_net(const DrafterConfig& config,
                                                 Workspace& workspace) {
  return std::make_unique<GatedDeltaNet>(config, workspace);
}

}  // namespace draftlab
