#include "target_model/transformer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "target_model/decoder_loops.h"

namespace draftlab {
namespace {

// A matrix or vector read whole, or several matrices read one above the other.
at::Tensor read_stacked(WeightSource& source, const std::vector<std::string>& names,
                        const std::vector<int64_t>& rows, int64_t columns) {
  int64_t all = 0;
  for (const int64_t count : rows) all += count;
  at::Tensor tensor = columns > 0 ? at::empty({all, columns}) : at::empty({all});
  float* out = tensor.data_ptr<float>();
  for (size_t i = 0; i < names.size(); ++i) {
    source.read(names[i], columns > 0 ? std::vector{rows[i], columns} : std::vector{rows[i]}, out);
    out += rows[i] * std::max<int64_t>(columns, 1);
  }
  return tensor;
}

at::Tensor read_vector(WeightSource& source, const std::string& name, int64_t size) {
  return read_stacked(source, {name}, {size}, 0);
}

DecoderLayerWeights read_layer(WeightSource& source, const TransformerConfig& c, int64_t index) {
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const std::string attention = prefix + "self_attn.", mlp = prefix + "mlp.";
  const int64_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  const auto qkv_names = [&](const char* kind) {
    return std::vector<std::string>{attention + "q_proj." + kind, attention + "k_proj." + kind,
                                    attention + "v_proj." + kind};
  };
  DecoderLayerWeights layer;
  layer.input_norm = read_vector(source, prefix + "input_layernorm.weight", c.hidden_size);
  layer.post_norm = read_vector(source, prefix + "post_attention_layernorm.weight", c.hidden_size);
  layer.qkv = read_stacked(source, qkv_names("weight"), {q, kv, kv}, c.hidden_size);
  if (c.has_qkv_bias()) layer.qkv_bias = read_stacked(source, qkv_names("bias"), {q, kv, kv}, 0);
  if (c.has_qk_norm()) {
    layer.q_norm = read_vector(source, attention + "q_norm.weight", c.head_dim);
    layer.k_norm = read_vector(source, attention + "k_norm.weight", c.head_dim);
  }
  layer.output = read_stacked(source, {attention + "o_proj.weight"}, {c.hidden_size}, q);
  layer.gate_up = read_stacked(source, {mlp + "gate_proj.weight", mlp + "up_proj.weight"},
                               {c.intermediate_size, c.intermediate_size}, c.hidden_size);
  layer.down =
      read_stacked(source, {mlp + "down_proj.weight"}, {c.hidden_size}, c.intermediate_size);
  return layer;
}

// One thread for little work: starting more would cost more than they save.
template <typename Body>
void for_rows(int64_t rows, int64_t work_per_row, Body body) {
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, work_per_row));
  at::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) body(row);
  });
}

at::Tensor rms_norm_rows(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor out = at::empty_like(x);
  const int64_t size = x.size(1);
  const float *in = x.data_ptr<float>(), *w = weight.data_ptr<float>();
  float* o = out.data_ptr<float>();
  for_rows(x.size(0), size, [&](int64_t r) {
    rms_norm(in + r * size, w, static_cast<float>(eps), size, o + r * size);
  });
  return out;
}

// [R, 2 I], gate beside up -> [R, I]
at::Tensor gated_silu_rows(const at::Tensor& gate_up) {
  const int64_t rows = gate_up.size(0), size = gate_up.size(1) / 2;
  const at::Tensor out = at::empty({rows, size});
  const float* in = gate_up.data_ptr<float>();
  float* o = out.data_ptr<float>();
  for_rows(rows, 8 * size, [&](int64_t r) {
    gated_silu(in + 2 * r * size, in + (2 * r + 1) * size, size, o + r * size);
  });
  return out;
}

}  // namespace

TransformerWeights load_weights(TargetCheckpoint& checkpoint) {
  const TransformerConfig& c = checkpoint.config;
  WeightSource& source = *checkpoint.weights;
  TransformerWeights weights;
  weights.embedding =
      read_stacked(source, {"model.embed_tokens.weight"}, {c.vocab_size}, c.hidden_size);
  weights.head = c.tied ? weights.embedding
                        : read_stacked(source, {"lm_head.weight"}, {c.vocab_size}, c.hidden_size);
  weights.final_norm = read_vector(source, "model.norm.weight", c.hidden_size);
  for (int64_t i = 0; i < c.layers; ++i) weights.layers.push_back(read_layer(source, c, i));
  source.finish();
  return weights;
}

namespace {

bool is_tree(std::span<const TokenRow> rows) {
  return std::ranges::any_of(rows, [](const TokenRow& row) { return row.parent >= 0; });
}

}  // namespace

Transformer::Transformer(TransformerConfig config, TransformerWeights weights, Products products)
    : config_(std::move(config)),
      embedding_(weights.embedding),
      final_norm_(weights.final_norm),
      head_(frozen_linear(products, weights.head)) {
  weights.head.reset();
  for (DecoderLayerWeights& w : weights.layers) {
    layers_.push_back({w.input_norm, w.post_norm, w.q_norm, w.k_norm,
                       frozen_linear(products, w.qkv, w.qkv_bias),
                       frozen_linear(products, w.output), frozen_linear(products, w.gate_up),
                       frozen_linear(products, w.down)});
    w = {};
  }
}

void Transformer::grow_rotations(int64_t positions) {
  const int64_t half = config_.head_dim / 2;
  for (int64_t position = static_cast<int64_t>(cosines_.size()) / half; position < positions;
       ++position) {
    for (int64_t j = 0; j < half; ++j) {
      const double angle = static_cast<double>(position) *
                           std::pow(config_.rope_theta, -2.0 * static_cast<double>(j) /
                                                            static_cast<double>(config_.head_dim));
      cosines_.push_back(static_cast<float>(std::cos(angle)));
      sines_.push_back(static_cast<float>(std::sin(angle)));
    }
  }
}

at::Tensor Transformer::forward(KeyValueCache& cache, std::span<const TokenRow> rows,
                                const LayerOutput& on_layer) {
  const TransformerConfig& c = config_;
  const auto count = static_cast<int64_t>(rows.size());
  int64_t positions = 0;
  for (const TokenRow& row : rows) {
    if (row.token < 0 || row.token >= c.vocab_size) {
      throw Error("target", "token " + std::to_string(row.token) +
                                " is outside of the vocabulary of " + std::to_string(c.vocab_size));
    }
    TORCH_CHECK(row.position >= 0 && row.position < cache.capacity(row.sequence),
                "row past its cache");
    TORCH_CHECK(row.parent < &row - rows.data() &&
                    (row.parent < 0 || (rows[row.parent].sequence == row.sequence &&
                                        rows[row.parent].position + 1 == row.position)),
                "a row's parent is not the row before it");
    positions = std::max(positions, row.position + 1);
  }
  grow_rotations(positions);
  branches_.clear();

  at::Tensor hidden = at::empty({count, c.hidden_size});
  const float* embedding = embedding_.data_ptr<float>();
  for (int64_t r = 0; r < count; ++r) {
    std::copy_n(embedding + rows[r].token * c.hidden_size, c.hidden_size,
                hidden.data_ptr<float>() + r * c.hidden_size);
  }
  for (int64_t l = 0; l < c.layers; ++l) {
    const Layer& layer = layers_[l];
    const at::Tensor qkv = (*layer.qkv)(rms_norm_rows(hidden, layer.input_norm, c.rms_norm_eps));
    hidden = layer.output->add_to(hidden, attention(cache, rows, l, qkv));
    if (is_tree(rows)) branches_.push_back(qkv);
    const at::Tensor gate_up =
        (*layer.gate_up)(rms_norm_rows(hidden, layer.post_norm, c.rms_norm_eps));
    hidden = layer.down->add_to(hidden, gated_silu_rows(gate_up));
    if (on_layer) on_layer(l, hidden);
  }
  return rms_norm_rows(hidden, final_norm_, c.rms_norm_eps);
}

// Rotates q and k in place, stores k and v, and mixes the values of each row's own past: [R, heads
// * head_dim].
at::Tensor Transformer::attention(KeyValueCache& cache, std::span<const TokenRow> rows,
                                  int64_t layer, const at::Tensor& qkv) const {
  const TransformerConfig& c = config_;
  const Layer& w = layers_[layer];
  const int64_t width = qkv.size(1), half = c.head_dim / 2, group = c.heads / c.kv_heads;
  const auto count = static_cast<int64_t>(rows.size());
  float* projected = qkv.data_ptr<float>();
  for_rows(count, width, [&](int64_t r) {
    float* row = projected + r * width;
    const int64_t position = rows[r].position;
    for (int64_t h = 0; h < c.heads + c.kv_heads; ++h) {
      float* head = row + h * c.head_dim;
      const at::Tensor& norm = h < c.heads ? w.q_norm : w.k_norm;
      if (norm.defined()) {
        rms_norm(head, norm.data_ptr<float>(), static_cast<float>(c.rms_norm_eps), c.head_dim,
                 head);
      }
      rotate(head, cosines_.data() + position * half, sines_.data() + position * half, c.head_dim);
    }
    for (int64_t g = 0; g < c.kv_heads && rows[r].parent < 0; ++g) {
      const float* key = row + (c.heads + g) * c.head_dim;
      cache.put(rows[r].sequence, layer, g, position, key, key + c.kv_heads * c.head_dim);
    }
  });
  const at::Tensor mixed = at::empty({count, c.heads * c.head_dim});
  float* out = mixed.data_ptr<float>();
  at::parallel_for(0, count * c.kv_heads, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> scores;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t r = i / c.kv_heads, g = i % c.kv_heads, length = rows[r].position + 1;
      if (rows[r].parent >= 0) continue;
      scores.resize(std::max<size_t>(scores.size(), length + KeyValueCache::kLanes));
      for (int64_t h = g * group; h < (g + 1) * group; ++h) {
        attend(projected + r * width + h * c.head_dim, cache.keys(rows[r].sequence, layer, g),
               cache.values(rows[r].sequence, layer, g), cache.value_stride(), length, c.head_dim,
               scores.data(), out + (r * c.heads + h) * c.head_dim);
      }
    }
  });
  if (is_tree(rows)) attend_to_paths(cache, rows, layer, qkv, mixed);
  return mixed;
}

// Lays each path into the cache in turn, one position behind the other, so that its last row sees
// what it would see alone, summed in the same order.
void Transformer::attend_to_paths(KeyValueCache& cache, std::span<const TokenRow> rows,
                                  int64_t layer, const at::Tensor& qkv,
                                  const at::Tensor& mixed) const {
  const TransformerConfig& c = config_;
  const int64_t width = qkv.size(1), group = c.heads / c.kv_heads;
  const float* projected = qkv.const_data_ptr<float>();
  float* out = mixed.data_ptr<float>();
  at::parallel_for(0, c.kv_heads, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> scores;
    for (int64_t g = begin; g < end; ++g) {
      for (int64_t r = 0; r < std::ssize(rows); ++r) {
        if (rows[r].parent < 0) continue;
        for (int64_t a = r; rows[a].parent >= 0; a = rows[a].parent) {
          const float* key = projected + a * width + (c.heads + g) * c.head_dim;
          cache.put(rows[a].sequence, layer, g, rows[a].position, key,
                    key + c.kv_heads * c.head_dim);
        }
        const int64_t length = rows[r].position + 1;
        scores.resize(std::max<size_t>(scores.size(), length + KeyValueCache::kLanes));
        const float *keys = cache.keys(rows[r].sequence, layer, g),
                    *values = cache.values(rows[r].sequence, layer, g);
        for (int64_t h = g * group; h < (g + 1) * group; ++h) {
          attend(projected + r * width + h * c.head_dim, keys, values, cache.value_stride(), length,
                 c.head_dim, scores.data(), out + (r * c.heads + h) * c.head_dim);
        }
      }
    }
  });
}

void Transformer::keep_path(KeyValueCache& cache, std::span<const TokenRow> rows, int64_t last) {
  const TransformerConfig& c = config_;
  for (int64_t a = last; rows[a].parent >= 0; a = rows[a].parent) {
    for (int64_t layer = 0; layer < std::ssize(branches_); ++layer) {
      const at::Tensor& qkv = branches_[layer];
      const float* projected = qkv.const_data_ptr<float>() + a * qkv.size(1);
      for (int64_t g = 0; g < c.kv_heads; ++g) {
        const float* key = projected + (c.heads + g) * c.head_dim;
        cache.put(rows[a].sequence, layer, g, rows[a].position, key, key + c.kv_heads * c.head_dim);
      }
    }
  }
}

}  // namespace draftlab
