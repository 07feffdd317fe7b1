#include "model/drafter.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "kernels/block_attention.h"
#include "kernels/frozen_head_loss.h"
#include "kernels/rms_norm.h"
#include "kernels/rotary.h"
#include "kernels/swiglu.h"

namespace draftlab {
namespace {

// Gives `buffer` a shape; memory is taken only when it has to grow. The contents are undefined.
void shape(at::Tensor& buffer, at::IntArrayRef sizes, const at::TensorOptions& options) {
  if (!buffer.defined()) buffer = at::empty({0}, options);
  buffer.resize_(sizes);
}

// out = x . weight^T: the linear layer of an [out, in] weight.
void linear(const at::Tensor& x, const at::Tensor& weight, at::Tensor& out) {
  at::mm_out(out, x, weight.t());
}
// dx (+)= dy . weight
void linear_input_gradient(const at::Tensor& dy, const at::Tensor& weight, at::Tensor dx,
                           bool accumulate = false) {
  at::addmm_out(dx, dx, dy, weight, /*beta=*/accumulate ? 1 : 0);
}
// d_weight = dy^T . x
void linear_weight_gradient(const at::Tensor& dy, const at::Tensor& x, at::Tensor& d_weight) {
  at::mm_out(d_weight, dy.t(), x);
}

// The tensors of one layer by their short names: its weights, or their gradients.
struct LayerTensors {
  at::Tensor input_norm, q, k, v, q_norm, k_norm, o, post_norm, gate, up, down;

  LayerTensors(const NamedTensors& all, int64_t layer) {
    const auto get = [&, prefix = "layers." + std::to_string(layer) + "."](const char* name) {
      return all.at(prefix + name + ".weight");
    };
    input_norm = get("input_layernorm");
    q = get("self_attn.q_proj");
    k = get("self_attn.k_proj");
    v = get("self_attn.v_proj");
    q_norm = get("self_attn.q_norm");
    k_norm = get("self_attn.k_norm");
    o = get("self_attn.o_proj");
    post_norm = get("post_attention_layernorm");
    gate = get("mlp.gate_proj");
    up = get("mlp.up_proj");
    down = get("mlp.down_proj");
  }
};

// What the forward pass of a layer leaves for its backward pass. M = N*B block rows, K = T + M key
// rows.
struct LayerBuffers {
  at::Tensor h;        // [M, H] residual stream on entry
  at::Tensor rows;     // [K, H] the context c, then x = input_norm(h): what k and v are made of
  at::Tensor x_scale;  // [M] 1/rms of h
  at::Tensor q_raw, k_raw, v;   // [M, nh*hd], [K, nkv*hd], [K, nkv*hd]
  at::Tensor q_scale, k_scale;  // [M*nh], [K*nkv] 1/rms of each head
  at::Tensor q, k;              // normed and turned
  at::Tensor attention;         // [M, nh*hd]
  at::Tensor log_sum, largest;  // [nh, M] of the attention scores
  at::Tensor h_mid;             // [M, H] h + o(attention)
  at::Tensor y, y_scale;        // [M, H] post_norm(h_mid), [M]
  at::Tensor gate, up, act;     // [M, I]
};

}  // namespace

struct Drafter::State {
  DrafterConfig config;
  at::Tensor embedding, head;
  at::TensorOptions options;
  AttentionHeads heads;
  RotaryTable table;
  int64_t table_rows = 0;

  // Of the batch at hand.
  int64_t context_rows = 0, block_rows = 0;             // T, M
  std::vector<int64_t> block_positions, key_positions;  // [M], [K]

  // Forward.
  at::Tensor fc, c_scale;  // [T, H] fc(context), [T] its 1/rms; c itself is in LayerBuffers::rows
  std::vector<LayerBuffers> layers;
  at::Tensor h, final, final_scale;  // [M, H] after the last layer, norm(h), [M]

  // Loss: the S rows of `final` that the head sees.
  std::vector<int64_t> loss_rows, loss_labels;
  std::vector<double> loss_weights, losses;
  at::Tensor loss_index, loss_hidden, d_loss_hidden;  // [S], [S, H], [S, H]

  // Backward; shared by the layers.
  at::Tensor d_c, d_h, d_rows, d_y;  // [T, H], [M, H], [K, H], [M, H]
  at::Tensor d_attention, dq;        // [M, nh*hd]
  at::Tensor dk, dv;                 // [K, nkv*hd]
  at::Tensor d_act, d_gate, d_up;    // [M, I]
  at::Tensor attention_scratch;

  void start(const BlockBatch& batch);
  void forward(const NamedTensors& parameters, const BlockBatch& batch);
  void forward_layer(const LayerTensors& weights, const BlockLayout& layout, int64_t index,
                     at::Tensor& h_out);
  void backward(const NamedTensors& parameters, const BlockBatch& batch,
                const NamedTensors& gradients);
  void backward_layer(const LayerTensors& weights, const LayerTensors& gradients,
                      const BlockLayout& layout, int64_t index);

  int64_t window(int64_t layer) const {
    return config.layer_types[layer] == "sliding_attention" ? config.sliding_window : 0;
  }
  BlockLayout layout(const BlockBatch& batch) const {
    return {batch.sequence_begin, batch.block_sequence, batch.block_anchor, batch.block_size};
  }
  at::Tensor context_part(const at::Tensor& rows) const { return rows.slice(0, 0, context_rows); }
  at::Tensor block_part(const at::Tensor& rows) const { return rows.slice(0, context_rows); }
  at::Tensor per_head(const at::Tensor& x) const { return x.view({-1, heads.dim}); }
  at::Tensor as_heads(const at::Tensor& x) const { return x.view({x.size(0), -1, heads.dim}); }
  void select_loss_rows(const std::vector<int64_t>& rows);
};

// Positions, and the shapes of all buffers.
void Drafter::State::start(const BlockBatch& batch) {
  TORCH_CHECK(batch.block_size == config.block_size, "the batch has blocks of ", batch.block_size,
              ", the drafter of ", config.block_size);
  context_rows = batch.sequence_begin.back();
  block_rows = batch.blocks() * batch.block_size;
  TORCH_CHECK(batch.context.size(0) == context_rows &&
                  batch.context.size(1) == config.num_taps * config.hidden_size &&
                  batch.context.scalar_type() == embedding.scalar_type(),
              "the batch's context has another shape or dtype than the drafter needs");
  key_positions.clear();
  block_positions.clear();
  for (size_t r = 0; r + 1 < batch.sequence_begin.size(); ++r)
    for (int64_t j = 0; j < batch.sequence_begin[r + 1] - batch.sequence_begin[r]; ++j)
      key_positions.push_back(j);
  for (int64_t anchor : batch.block_anchor)
    for (int64_t k = 0; k < batch.block_size; ++k) block_positions.push_back(anchor + k);
  key_positions.insert(key_positions.end(), block_positions.begin(), block_positions.end());
  const int64_t positions =
      key_positions.empty() ? 0 : *std::ranges::max_element(key_positions) + 1;
  if (positions > table_rows) {
    table_rows = 2 * positions;
    table = rotary_table(table_rows, config.head_dim, config.rope_theta, options);
  }

  const int64_t T = context_rows, M = block_rows, K = T + M;
  const int64_t H = config.hidden_size, I = config.intermediate_size;
  const int64_t queries = heads.query * heads.dim, keys = heads.key_value * heads.dim;
  const auto size = [&](std::initializer_list<at::Tensor*> buffers, at::IntArrayRef sizes) {
    for (at::Tensor* buffer : buffers) shape(*buffer, sizes, options);
  };
  for (LayerBuffers& b : layers) {
    size({&b.h, &b.h_mid, &b.y}, {M, H});
    size({&b.rows}, {K, H});
    size({&b.x_scale, &b.y_scale}, {M});
    size({&b.q_raw, &b.q, &b.attention}, {M, queries});
    size({&b.k_raw, &b.k, &b.v}, {K, keys});
    size({&b.q_scale}, {M * heads.query});
    size({&b.k_scale}, {K * heads.key_value});
    size({&b.log_sum, &b.largest}, {heads.query, M});
    size({&b.gate, &b.up, &b.act}, {M, I});
  }
  size({&fc, &d_c}, {T, H});
  size({&c_scale}, {T});
  size({&final_scale}, {M});
  size({&h, &final, &d_h, &d_y}, {M, H});
  size({&d_rows}, {K, H});
  size({&d_attention, &dq}, {M, queries});
  size({&dk, &dv}, {K, keys});
  size({&d_act, &d_gate, &d_up}, {M, I});
}

void Drafter::State::forward(const NamedTensors& parameters, const BlockBatch& batch) {
  start(batch);
  linear(batch.context, parameters.at("fc.weight"), fc);
  const at::Tensor c = context_part(layers[0].rows);
  rms_norm(fc, parameters.at("hidden_norm.weight"), config.rms_norm_eps, c, c_scale);
  const at::Tensor ids =
      at::from_blob(const_cast<int64_t*>(batch.token_ids.data()), {block_rows}, at::kLong)
          .to(embedding.device());
  at::index_select_out(layers[0].h, embedding, 0, ids);
  for (size_t i = 0; i < layers.size(); ++i) {
    if (i > 0) context_part(layers[i].rows).copy_(c);
    forward_layer({parameters, static_cast<int64_t>(i)}, layout(batch), static_cast<int64_t>(i),
                  i + 1 < layers.size() ? layers[i + 1].h : h);
  }
  rms_norm(h, parameters.at("norm.weight"), config.rms_norm_eps, final, final_scale);
}

void Drafter::State::forward_layer(const LayerTensors& weights, const BlockLayout& layout,
                                   int64_t index, at::Tensor& h_out) {
  LayerBuffers& b = layers[index];
  const double eps = config.rms_norm_eps;
  const at::Tensor x = block_part(b.rows);
  rms_norm(b.h, weights.input_norm, eps, x, b.x_scale);
  linear(x, weights.q, b.q_raw);
  linear(b.rows, weights.k, b.k_raw);
  linear(b.rows, weights.v, b.v);
  rms_norm(per_head(b.q_raw), weights.q_norm, eps, per_head(b.q), b.q_scale);
  rms_norm(per_head(b.k_raw), weights.k_norm, eps, per_head(b.k), b.k_scale);
  rotary(as_heads(b.q), block_positions, table, /*inverse=*/false);
  rotary(as_heads(b.k), key_positions, table, /*inverse=*/false);
  block_attention(b.q, b.k, b.v, layout, heads, window(index), b.attention, b.log_sum, &b.largest);
  at::addmm_out(b.h_mid, b.h, b.attention, weights.o.t());
  rms_norm(b.h_mid, weights.post_norm, eps, b.y, b.y_scale);
  linear(b.y, weights.gate, b.gate);
  linear(b.y, weights.up, b.up);
  swiglu(b.gate, b.up, b.act);
  at::addmm_out(h_out, b.h_mid, b.act, weights.down.t());
}

// From d_h, the gradient of `final`, to all gradients.
void Drafter::State::backward(const NamedTensors& parameters, const BlockBatch& batch,
                              const NamedTensors& gradients) {
  rms_norm_backward(d_h, h, parameters.at("norm.weight"), final_scale, d_h, /*accumulate=*/false,
                    gradients.at("norm.weight"));
  d_c.zero_();
  for (int64_t i = static_cast<int64_t>(layers.size()) - 1; i >= 0; --i)
    backward_layer({parameters, i}, {gradients, i}, layout(batch), i);
  rms_norm_backward(d_c, fc, parameters.at("hidden_norm.weight"), c_scale, d_c,
                    /*accumulate=*/false, gradients.at("hidden_norm.weight"));
  at::Tensor d_fc = gradients.at("fc.weight");
  linear_weight_gradient(d_c, batch.context, d_fc);
}

// Takes d_h from the gradient of the layer's output to that of its input; adds to d_c.
void Drafter::State::backward_layer(const LayerTensors& weights, const LayerTensors& gradients,
                                    const BlockLayout& layout, int64_t index) {
  LayerBuffers& b = layers[index];
  LayerTensors d = gradients;
  // h_out = h_mid + down(swiglu(gate(y), up(y)))
  linear_weight_gradient(d_h, b.act, d.down);
  linear_input_gradient(d_h, weights.down, d_act);
  swiglu_backward(d_act, b.gate, b.up, d_gate, d_up);
  linear_weight_gradient(d_gate, b.y, d.gate);
  linear_weight_gradient(d_up, b.y, d.up);
  linear_input_gradient(d_gate, weights.gate, d_y);
  linear_input_gradient(d_up, weights.up, d_y, /*accumulate=*/true);
  rms_norm_backward(d_y, b.h_mid, weights.post_norm, b.y_scale, d_h, /*accumulate=*/true,
                    d.post_norm);
  // h_mid = h + o(attention)
  linear_weight_gradient(d_h, b.attention, d.o);
  linear_input_gradient(d_h, weights.o, d_attention);
  block_attention_backward(d_attention, b.q, b.k, b.v, b.attention, b.log_sum, layout, heads,
                           window(index), dq, dk, dv, attention_scratch);
  rotary(as_heads(dq), block_positions, table, /*inverse=*/true);
  rotary(as_heads(dk), key_positions, table, /*inverse=*/true);
  rms_norm_backward(per_head(dq), per_head(b.q_raw), weights.q_norm, b.q_scale, per_head(dq),
                    /*accumulate=*/false, d.q_norm);
  rms_norm_backward(per_head(dk), per_head(b.k_raw), weights.k_norm, b.k_scale, per_head(dk),
                    /*accumulate=*/false, d.k_norm);
  linear_weight_gradient(dq, block_part(b.rows), d.q);
  linear_weight_gradient(dk, b.rows, d.k);
  linear_weight_gradient(dv, b.rows, d.v);
  linear_input_gradient(dk, weights.k, d_rows);
  linear_input_gradient(dv, weights.v, d_rows, /*accumulate=*/true);
  linear_input_gradient(dq, weights.q, block_part(d_rows), /*accumulate=*/true);
  d_c.add_(context_part(d_rows));
  rms_norm_backward(block_part(d_rows), b.h, weights.input_norm, b.x_scale, d_h,
                    /*accumulate=*/true, d.input_norm);
}

void Drafter::State::select_loss_rows(const std::vector<int64_t>& rows) {
  loss_rows = rows;
  const int64_t S = static_cast<int64_t>(rows.size());
  losses.assign(S, 0);
  loss_index = at::from_blob(loss_rows.data(), {S}, at::kLong).to(embedding.device());
  shape(loss_hidden, {S, config.hidden_size}, options);
  at::index_select_out(loss_hidden, final, 0, loss_index);
}

Drafter::Drafter(const DrafterConfig& config, at::Tensor embedding, at::Tensor head)
    : state_(std::make_unique<State>()) {
  TORCH_CHECK(embedding.dim() == 2 && embedding.size(0) == config.vocab_size &&
                  embedding.size(1) == config.hidden_size,
              "the embedding is ", embedding.sizes(), ", not [vocab_size, hidden_size]");
  TORCH_CHECK(head.dim() == 2 && head.size(0) == config.draft_vocab_size &&
                  head.size(1) == config.hidden_size,
              "the head is ", head.sizes(), ", not [draft_vocab_size, hidden_size]");
  TORCH_CHECK(head.scalar_type() == embedding.scalar_type() && !config.layer_types.empty(),
              "embedding and head differ in dtype, or there is no layer");
  state_->config = config;
  state_->options = embedding.options();
  state_->embedding = embedding.contiguous();
  state_->head = head.contiguous();
  state_->heads = {config.num_attention_heads, config.num_key_value_heads, config.head_dim};
  state_->layers.resize(config.num_hidden_layers());
}

Drafter::~Drafter() = default;

const DrafterConfig& Drafter::config() const { return state_->config; }

std::vector<at::Tensor> Drafter::largest_scores() const {
  std::vector<at::Tensor> scores;
  for (const LayerBuffers& layer : state_->layers) scores.push_back(layer.largest.amax(1));
  return scores;
}

at::Tensor Drafter::forward(const NamedTensors& parameters, const BlockBatch& batch) {
  state_->forward(parameters, batch);
  return state_->final.clone();
}

LossResult Drafter::loss_and_gradients(const NamedTensors& parameters, const BlockBatch& batch,
                                       NamedTensors& gradients) {
  State& s = *state_;
  Stopwatch watch;
  std::vector<int64_t> rows;
  s.loss_labels.clear();
  s.loss_weights.clear();
  LossResult result;
  for (size_t row = 0; row < batch.labels.size(); ++row) {
    if (batch.labels[row] < 0 || batch.weights[row] <= 0) continue;
    rows.push_back(static_cast<int64_t>(row));
    s.loss_labels.push_back(batch.labels[row]);
    s.loss_weights.push_back(batch.weights[row]);
    result.denominator += batch.weights[row];
  }
  if (rows.empty()) {
    throw Error("training batch",
                "no block has a supervised label in the draft vocabulary; check "
                "loss masks and draft_vocab_size");
  }
  result.labels = static_cast<int64_t>(rows.size());
  for (const auto& [name, parameter] : parameters) {
    at::Tensor& gradient = gradients[name];
    if (!gradient.defined()) gradient = at::empty_like(parameter, at::MemoryFormat::Contiguous);
  }

  s.forward(parameters, batch);
  s.select_loss_rows(rows);
  shape(s.d_loss_hidden, s.loss_hidden.sizes(), s.options);
  std::vector<double> scales = s.loss_weights;
  for (double& scale : scales) scale /= result.denominator;
  frozen_head_loss(s.loss_hidden, s.head, s.loss_labels, scales, s.losses, s.d_loss_hidden);
  for (size_t i = 0; i < rows.size(); ++i) result.numerator += s.loss_weights[i] * s.losses[i];
  result.loss = result.numerator / result.denominator;
  result.forward_seconds = watch.lap();

  s.d_h.zero_().index_copy_(0, s.loss_index, s.d_loss_hidden);
  s.backward(parameters, batch, gradients);
  return result;
}

LossResult Drafter::loss_and_argmax(const NamedTensors& parameters, const BlockBatch& batch,
                                    at::Tensor& argmax) {
  State& s = *state_;
  std::vector<int64_t> rows;
  s.loss_labels.clear();
  for (int64_t row = 0; row < static_cast<int64_t>(batch.labels.size()); ++row) {
    if (row % batch.block_size == 0) continue;
    rows.push_back(row);
    s.loss_labels.push_back(batch.weights[row] > 0 ? batch.labels[row] : -1);
  }
  s.forward(parameters, batch);
  s.select_loss_rows(rows);
  std::vector<int64_t> best(rows.size());
  frozen_head_argmax(s.loss_hidden, s.head, s.loss_labels, s.losses, best);

  LossResult result;
  argmax = at::full({static_cast<int64_t>(batch.labels.size())}, -1, at::kLong);
  for (size_t i = 0; i < rows.size(); ++i) {
    argmax.data_ptr<int64_t>()[rows[i]] = best[i];
    if (s.loss_labels[i] < 0) continue;
    result.numerator += batch.weights[rows[i]] * s.losses[i];
    result.denominator += batch.weights[rows[i]];
    ++result.labels;
  }
  result.loss = result.numerator / result.denominator;
  return result;
}

NamedTensors initial_parameters(const DrafterConfig& config, int64_t seed) {
  NamedTensors parameters;
  for (const ParameterShape& shape : parameter_shapes(config)) {
    at::Tensor values = at::ones(shape.shape, at::kFloat);
    if (shape.shape.size() == 2) {
      Random random(seed, "initial " + shape.name);
      float* value = values.data_ptr<float>();
      for (int64_t i = 0; i < shape.count(); ++i)
        value[i] = static_cast<float>(config.initializer_range * random.normal());
    }
    parameters.emplace(shape.name, std::move(values));
  }
  return parameters;
}

}  // namespace draftlab
