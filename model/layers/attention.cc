// Layer types "full_attention" and "sliding_attention".
#include <ATen/ATen.h>

#include <algorithm>

#include "kernels/block_attention.h"
#include "kernels/rms_norm.h"
#include "kernels/rotary.h"
#include "model/layers/token_mixer.h"
#include "model/linear.h"

namespace draftlab {
namespace {

class Attention : public TokenMixer {
 public:
  // window 0: full.
  Attention(const DrafterConfig& config, int64_t window, Workspace& workspace)
      : heads_{config.layer_option("num_attention_heads"),
               config.layer_option("num_key_value_heads"), config.layer_option("head_dim")},
        window_(window),
        eps_(config.rms_norm_eps),
        theta_(config.rope_theta),
        workspace_(workspace) {}

  void forward(const LayerTensors& weights, const LayerBatch& batch, const at::Tensor& rows,
               const at::Tensor& h, at::Tensor& h_out) override {
    start(batch);
    linear(rows.slice(0, batch.context_rows()), weights("self_attn.q_proj.weight"), q_raw_);
    linear(rows, weights("self_attn.k_proj.weight"), k_raw_);
    linear(rows, weights("self_attn.v_proj.weight"), v_);
    rms_norm(per_head(q_raw_), weights("self_attn.q_norm.weight"), eps_, per_head(q_), q_scale_);
    rms_norm(per_head(k_raw_), weights("self_attn.k_norm.weight"), eps_, per_head(k_), k_scale_);
    rotary(as_heads(q_), batch.block_positions, table_, /*inverse=*/false);
    rotary(as_heads(k_), batch.positions, table_, /*inverse=*/false);
    block_attention(q_, k_, v_, batch.layout, heads_, window_, mixed_, log_sum_, &largest_);
    at::addmm_out(h_out, h, mixed_, weights("self_attn.o_proj.weight").t());
  }

  void backward(const LayerTensors& weights, const LayerTensors& gradients, const LayerBatch& batch,
                const at::Tensor& rows, const at::Tensor& d_out, at::Tensor& d_rows) override {
    at::Tensor& d_mixed = workspace_.tensor("attention.d_mixed", mixed_.sizes());
    at::Tensor& dq = workspace_.tensor("attention.dq", q_.sizes());
    at::Tensor& dk = workspace_.tensor("attention.dk", k_.sizes());
    at::Tensor& dv = workspace_.tensor("attention.dv", v_.sizes());
    const auto block_part = [&](const at::Tensor& x) { return x.slice(0, batch.context_rows()); };
    linear_weight_gradient(d_out, mixed_, gradients("self_attn.o_proj.weight"));
    linear_input_gradient(d_out, weights("self_attn.o_proj.weight"), d_mixed);
    block_attention_backward(d_mixed, q_, k_, v_, mixed_, log_sum_, batch.layout, heads_, window_,
                             dq, dk, dv, workspace_.tensor("attention.scratch", {0}));
    rotary(as_heads(dq), batch.block_positions, table_, /*inverse=*/true);
    rotary(as_heads(dk), batch.positions, table_, /*inverse=*/true);
    rms_norm_backward(per_head(dq), per_head(q_raw_), weights("self_attn.q_norm.weight"), q_scale_,
                      per_head(dq), /*accumulate=*/false, gradients("self_attn.q_norm.weight"));
    rms_norm_backward(per_head(dk), per_head(k_raw_), weights("self_attn.k_norm.weight"), k_scale_,
                      per_head(dk), /*accumulate=*/false, gradients("self_attn.k_norm.weight"));
    linear_weight_gradient(dq, block_part(rows), gradients("self_attn.q_proj.weight"));
    linear_weight_gradient(dk, rows, gradients("self_attn.k_proj.weight"));
    linear_weight_gradient(dv, rows, gradients("self_attn.v_proj.weight"));
    linear_input_gradient(dk, weights("self_attn.k_proj.weight"), d_rows);
    linear_input_gradient(dv, weights("self_attn.v_proj.weight"), d_rows, /*accumulate=*/true);
    linear_input_gradient(dq, weights("self_attn.q_proj.weight"), block_part(d_rows),
                          /*accumulate=*/true);
  }

  at::Tensor largest_scores() const override { return largest_.amax(1); }

 private:
  // The shapes of what the forward pass keeps, and the rotary table.
  void start(const LayerBatch& batch) {
    const int64_t M = batch.block_rows(), K = batch.context_rows() + M;
    const int64_t queries = heads_.query * heads_.dim, keys = heads_.key_value * heads_.dim;
    const auto size = [&](std::initializer_list<at::Tensor*> buffers, at::IntArrayRef sizes) {
      for (at::Tensor* buffer : buffers) shape(*buffer, sizes, workspace_.options());
    };
    size({&q_raw_, &q_, &mixed_}, {M, queries});
    size({&k_raw_, &k_, &v_}, {K, keys});
    size({&q_scale_}, {M * heads_.query});
    size({&k_scale_}, {K * heads_.key_value});
    size({&log_sum_, &largest_}, {heads_.query, M});
    const int64_t positions =
        batch.positions.empty() ? 0 : *std::ranges::max_element(batch.positions) + 1;
    if (positions <= table_rows_) return;
    table_rows_ = 2 * positions;
    table_ = rotary_table(table_rows_, heads_.dim, theta_, workspace_.options());
  }
  at::Tensor per_head(const at::Tensor& x) const { return x.view({-1, heads_.dim}); }
  at::Tensor as_heads(const at::Tensor& x) const { return x.view({x.size(0), -1, heads_.dim}); }

  const AttentionHeads heads_;
  const int64_t window_;
  const double eps_, theta_;
  Workspace& workspace_;
  RotaryTable table_;
  int64_t table_rows_ = 0;
  at::Tensor q_raw_, k_raw_, v_;  // [M, nh*hd], [K, nkv*hd], [K, nkv*hd]
  at::Tensor q_scale_, k_scale_;  // [M*nh], [K*nkv] 1/rms of each head
  at::Tensor q_, k_;              // normed and turned
  at::Tensor mixed_;              // [M, nh*hd]
  at::Tensor log_sum_, largest_;  // [nh, M] of the attention scores
};

}  // namespace

std::unique_ptr<TokenMixer> make_full_attention(const DrafterConfig& config, Workspace& workspace) {
  return std::make_unique<Attention>(config, /*window=*/0, workspace);
}

std::unique_ptr<TokenMixer> make_sliding_attention(const DrafterConfig& config,
                                                   Workspace& workspace) {
  return std::make_unique<Attention>(config, config.layer_option("sliding_window"), workspace);
}

}  // namespace draftlab
