#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/named_tensors.h"
#include "model/block_batch.h"
#include "record/drafter_config.h"

// For tests: the drafter's definition, float64, by operations that autograd knows, and problems to
// try it with.
namespace draftlab {

// Which context rows a sliding layer sees from slot o of a block with anchor a: from a + o - (W -
// 1) on (ours), or from a - W on (speculators).
enum class WindowRule { kSpecForge, kSpeculators };

inline at::Tensor reference_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return weight * (x * (x.square().mean(-1, true) + eps).rsqrt());
}

inline at::Tensor reference_rotary(const at::Tensor& x, const at::Tensor& positions, double theta) {
  const int64_t n = x.size(-1);  // x [rows, heads, n]
  const at::Tensor frequency = at::pow(theta, at::arange(0, n, 2, at::kDouble) / -n);
  const at::Tensor angle = at::outer(positions, frequency).repeat({1, 2}).unsqueeze(1);
  const at::Tensor turned = at::cat({-x.slice(2, n / 2), x.slice(2, 0, n / 2)}, 2);
  return x * angle.cos() + turned * angle.sin();
}

// The weights of one layer, by their names behind "layers.{i}.".
struct ReferenceLayer {
  const NamedTensors& all;
  int64_t layer;
  at::Tensor operator()(const std::string& name) const {
    return all.at("layers." + std::to_string(layer) + "." + name);
  }
};

// `rows`: the context c, then the normed block rows. With a dense mask.
inline at::Tensor reference_attention(const DrafterConfig& config, const ReferenceLayer& w,
                                      const BlockBatch& batch, const at::Tensor& rows,
                                      WindowRule rule) {
  const double eps = config.rms_norm_eps;
  const int64_t context = batch.sequence_begin.back(), B = batch.block_size;
  const int64_t M = batch.blocks() * B, nh = config.layer_option("num_attention_heads"),
                nkv = config.layer_option("num_key_value_heads"),
                hd = config.layer_option("head_dim");
  at::Tensor positions = at::empty({context + M}, at::kDouble);
  at::Tensor owner = at::empty({context}, at::kLong);  // sequence of a context row
  for (size_t r = 0; r + 1 < batch.sequence_begin.size(); ++r) {
    const int64_t begin = batch.sequence_begin[r], end = batch.sequence_begin[r + 1];
    positions.slice(0, begin, end).copy_(at::arange(end - begin));
    owner.slice(0, begin, end).fill_(static_cast<int64_t>(r));
  }
  for (int64_t n = 0; n < batch.blocks(); ++n)
    positions.slice(0, context + n * B, context + (n + 1) * B)
        .copy_(at::arange(B) + batch.block_anchor[n]);

  const bool sliding = config.layer_types[w.layer] == "sliding_attention";
  const int64_t window = sliding ? config.layer_option("sliding_window") : 0;
  at::Tensor mask = at::zeros({M, context + M}, at::kBool);
  for (int64_t row = 0; row < M; ++row) {
    const int64_t n = row / B, o = row % B, a = batch.block_anchor[n];
    for (int64_t j = 0; j < context; ++j) {
      const int64_t position = positions[j].item<int64_t>();
      if (owner[j].item<int64_t>() != batch.block_sequence[n] || position >= a) continue;
      const int64_t first = rule == WindowRule::kSpecForge ? a + o - (window - 1) : a - window;
      if (sliding && position < first) continue;
      mask[row][j] = true;
    }
    mask[row].slice(0, context + n * B, context + (sliding ? row + 1 : (n + 1) * B)).fill_(true);
  }
  const at::Tensor x = rows.slice(0, context);
  at::Tensor q = x.matmul(w("self_attn.q_proj.weight").t()).view({M, nh, hd});
  at::Tensor k = rows.matmul(w("self_attn.k_proj.weight").t()).view({-1, nkv, hd});
  const at::Tensor v = rows.matmul(w("self_attn.v_proj.weight").t()).view({-1, nkv, hd});
  q = reference_rotary(reference_norm(q, w("self_attn.q_norm.weight"), eps),
                       positions.slice(0, context), config.rope_theta);
  k = reference_rotary(reference_norm(k, w("self_attn.k_norm.weight"), eps), positions,
                       config.rope_theta);
  const auto spread = [&](const at::Tensor& t) {
    return t.repeat_interleave(nh / nkv, 1).transpose(0, 1);
  };
  const at::Tensor scores = q.transpose(0, 1).matmul(spread(k).transpose(1, 2)) / std::sqrt(hd);
  const at::Tensor weights = scores.masked_fill(mask.logical_not(), -INFINITY).softmax(-1);
  const at::Tensor mixed = weights.matmul(spread(v)).transpose(0, 1).reshape({M, nh * hd});
  return mixed.matmul(w("self_attn.o_proj.weight").t());
}

// The Gated DeltaNet layer of a language model over one sequence x [L, H], row by row.
inline at::Tensor reference_recurrence(const DrafterConfig& config, const ReferenceLayer& w,
                                       const at::Tensor& x) {
  const int64_t L = x.size(0), nk = config.layer_option("linear_num_key_heads"),
                nv = config.layer_option("linear_num_value_heads"),
                dk = config.layer_option("linear_key_head_dim"),
                dv = config.layer_option("linear_value_head_dim"),
                taps = config.layer_option("linear_conv_kernel_dim");
  const at::Tensor projected = x.matmul(w("linear_attn.in_proj_qkv.weight").t());
  const int64_t D = projected.size(1);
  const at::Tensor padded = at::cat({at::zeros({taps - 1, D}, at::kDouble), projected});
  const at::Tensor convolved =
      at::conv1d(padded.t().unsqueeze(0), w("linear_attn.conv1d.weight"), /*bias=*/{},
                 /*stride=*/at::IntArrayRef{1}, /*padding=*/at::IntArrayRef{0},
                 /*dilation=*/at::IntArrayRef{1}, /*groups=*/D);
  const at::Tensor qkv = at::silu(convolved).squeeze(0).t();
  const auto length_one = [](const at::Tensor& t) {
    return t * (t.square().sum(-1, true) + 1e-6).rsqrt();
  };
  const auto heads = [&](int64_t first) {  // each key head serves nv/nk value heads
    const at::Tensor t = qkv.slice(1, first, first + nk * dk).reshape({L, nk, dk});
    return length_one(t).repeat_interleave(nv / nk, 1);
  };
  const at::Tensor q = heads(0) / std::sqrt(dk), k = heads(nk * dk);
  const at::Tensor v = qkv.slice(1, 2 * nk * dk).reshape({L, nv, dv});
  const at::Tensor beta = x.matmul(w("linear_attn.in_proj_b.weight").t()).sigmoid();
  const at::Tensor g =
      -w("linear_attn.A_log").exp() *
      at::softplus(x.matmul(w("linear_attn.in_proj_a.weight").t()) + w("linear_attn.dt_bias"));
  at::Tensor state = at::zeros({nv, dk, dv}, at::kDouble);
  std::vector<at::Tensor> outputs;
  for (int64_t t = 0; t < L; ++t) {
    state = state * g[t].exp().view({nv, 1, 1});
    const at::Tensor error = v[t] - (state * k[t].unsqueeze(2)).sum(1);
    state = state + k[t].unsqueeze(2) * (beta[t].unsqueeze(1) * error).unsqueeze(1);
    outputs.push_back((state * q[t].unsqueeze(2)).sum(1));
  }
  const at::Tensor z = x.matmul(w("linear_attn.in_proj_z.weight").t()).view({L, nv, dv});
  const at::Tensor o =
      reference_norm(at::stack(outputs), w("linear_attn.norm.weight"), config.rms_norm_eps) *
      at::silu(z);
  return o.reshape({L, nv * dv}).matmul(w("linear_attn.out_proj.weight").t());
}

// Each block alone: the context rows before its anchor and then its slots, as one sequence.
inline at::Tensor reference_gated_delta_net(const DrafterConfig& config, const ReferenceLayer& w,
                                            const BlockBatch& batch, const at::Tensor& rows) {
  const int64_t context = batch.sequence_begin.back(), B = batch.block_size;
  std::vector<at::Tensor> blocks;
  for (int64_t n = 0; n < batch.blocks(); ++n) {
    const int64_t begin = batch.sequence_begin[batch.block_sequence[n]];
    const int64_t anchor = batch.block_anchor[n], first = context + n * B;
    const at::Tensor sequence =
        at::cat({rows.slice(0, begin, begin + anchor), rows.slice(0, first, first + B)});
    blocks.push_back(reference_recurrence(config, w, sequence).slice(0, anchor));
  }
  return at::cat(blocks);
}

// The final normed states [N*B, H].
inline at::Tensor reference_hidden(const DrafterConfig& config, const NamedTensors& p,
                                   const at::Tensor& embedding, const BlockBatch& batch,
                                   WindowRule rule = WindowRule::kSpecForge) {
  const double eps = config.rms_norm_eps;
  const at::Tensor c =
      reference_norm(batch.context.matmul(p.at("fc.weight").t()), p.at("hidden_norm.weight"), eps);
  at::Tensor h = embedding.index_select(0, at::tensor(batch.token_ids));
  for (int64_t i = 0; i < config.num_hidden_layers(); ++i) {
    const ReferenceLayer w{p, i};
    const at::Tensor rows = at::cat({c, reference_norm(h, w("input_layernorm.weight"), eps)});
    h = h + (config.layer_types[i] == "gated_delta_net"
                 ? reference_gated_delta_net(config, w, batch, rows)
                 : reference_attention(config, w, batch, rows, rule));
    const at::Tensor y = reference_norm(h, w("post_attention_layernorm.weight"), eps);
    h = h +
        (at::silu(y.matmul(w("mlp.gate_proj.weight").t())) * y.matmul(w("mlp.up_proj.weight").t()))
            .matmul(w("mlp.down_proj.weight").t());
  }
  return reference_norm(h, p.at("norm.weight"), eps);
}

// A drafter with random weights and a batch for it.
struct Problem {
  std::string name;
  DrafterConfig config;
  NamedTensors parameters;
  at::Tensor embedding, head;
  BlockBatch batch;

  // Sequences of `lengths` rows with the given anchors each.
  Problem(std::string name, DrafterConfig config, std::vector<int64_t> lengths,
          std::vector<std::vector<int64_t>> anchors)
      : name(std::move(name)), config(std::move(config)) {
    at::manual_seed(5);
    const DrafterConfig& c = this->config;
    for (const ParameterShape& shape : parameter_shapes(c)) {
      const at::Tensor noise = at::randn(shape.shape, at::kDouble) * 0.3;
      // Decays of a recurrence that remember some rows: A around e^-2.
      const bool is_decay = shape.name.ends_with("A_log");
      parameters[shape.name] = is_decay ? noise - 2 : shape.shape.size() == 2 ? noise : 1 + noise;
    }
    embedding = at::randn({c.vocab_size, c.hidden_size}, at::kDouble);
    head = at::randn({c.draft_vocab_size, c.hidden_size}, at::kDouble);
    batch.block_size = c.block_size;
    batch.sequence_begin = {0};
    for (size_t r = 0; r < lengths.size(); ++r) {
      batch.sequence_begin.push_back(batch.sequence_begin.back() + lengths[r]);
      for (int64_t a : anchors[r]) {
        batch.block_sequence.push_back(static_cast<int64_t>(r));
        batch.block_anchor.push_back(a);
        for (int64_t k = 0; k < c.block_size; ++k) {
          batch.token_ids.push_back(k == 0 ? (a * 5 + 1) % c.vocab_size : c.mask_token_id);
          const bool supervised = k > 0 && (a + k) % 5 != 0;
          batch.labels.push_back(supervised ? (a * 3 + k * 7) % c.draft_vocab_size : -1);
          batch.weights.push_back(supervised ? std::exp(-static_cast<double>(k - 1) / 4) : 0);
        }
      }
    }
    batch.context =
        at::randn({batch.sequence_begin.back(), c.num_taps * c.hidden_size}, at::kDouble);
  }

  Problem to(at::ScalarType dtype) const {
    Problem copy = *this;
    for (auto& [_, tensor] : copy.parameters) tensor = tensor.to(dtype);
    copy.embedding = embedding.to(dtype);
    copy.head = head.to(dtype);
    copy.batch.context = batch.context.to(dtype);
    return copy;
  }
};

inline DrafterConfig small_config() {
  DrafterConfig c;
  c.hidden_size = 12;
  c.intermediate_size = 20;
  c.layer_options["num_attention_heads"] = 4;
  c.layer_options["num_key_value_heads"] = 2;
  c.layer_options["head_dim"] = 6;
  c.layer_types = {"full_attention", "sliding_attention"};
  c.layer_options["sliding_window"] = 4;
  c.block_size = 3;
  c.vocab_size = c.draft_vocab_size = 40;
  c.mask_token_id = 2;
  c.num_taps = 2;
  c.rope_theta = 100;
  return c;
}

// The options of recurrent layers besides.
inline DrafterConfig recurrent_config() {
  DrafterConfig c = small_config();
  c.layer_options["linear_num_key_heads"] = 2;
  c.layer_options["linear_num_value_heads"] = 4;
  c.layer_options["linear_key_head_dim"] = 8;
  c.layer_options["linear_value_head_dim"] = 10;
  c.layer_options["linear_conv_kernel_dim"] = 4;
  return c;
}

}  // namespace draftlab
