#include "model/drafter.h"

#include <ATen/ATen.h>

#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "kernels/frozen_head_loss.h"
#include "kernels/rms_norm.h"
#include "model/decoder_layer.h"
#include "model/linear.h"

namespace draftlab {
struct Drafter::State {
  DrafterConfig config;
  at::Tensor embedding, head;
  at::TensorOptions options;
  Workspace workspace;
  std::vector<DecoderLayer> layers;

  // Of the batch at hand.
  int64_t context_rows = 0, block_rows = 0;         // T, M
  std::vector<int64_t> block_positions, positions;  // [M], [T + M] context rows first

  // Forward.
  at::Tensor fc, c_scale;            // [T, H] fc(context), [T] its 1/rms; the layers have c itself
  at::Tensor h, final, final_scale;  // [M, H] after the last layer, norm(h), [M]

  // Loss: the S rows of `final` that the head sees.
  std::vector<int64_t> loss_rows, loss_labels;
  std::vector<double> loss_weights, losses;
  at::Tensor loss_index, loss_hidden, d_loss_hidden;  // [S], [S, H], [S, H]

  // Backward.
  at::Tensor d_c, d_h;  // [T, H], [M, H]

  State(const DrafterConfig& config, const at::Tensor& embedding, const at::Tensor& head);
  void start(const BlockBatch& batch);
  void forward(const NamedTensors& parameters, const BlockBatch& batch);
  void backward(const NamedTensors& parameters, const BlockBatch& batch,
                const NamedTensors& gradients);

  LayerBatch layer_batch(const BlockBatch& batch) const {
    return {{batch.sequence_begin, batch.block_sequence, batch.block_anchor, batch.block_size},
            positions,
            block_positions};
  }
  void select_loss_rows(const std::vector<int64_t>& rows);
};

Drafter::State::State(const DrafterConfig& config, const at::Tensor& embedding,
                      const at::Tensor& head)
    : config(config),
      embedding(embedding.contiguous()),
      head(head.contiguous()),
      options(embedding.options()),
      workspace(options) {
  for (int64_t i = 0; i < config.num_hidden_layers(); ++i)
    layers.emplace_back(config, i, workspace);
}

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
  positions.clear();
  block_positions.clear();
  for (size_t r = 0; r + 1 < batch.sequence_begin.size(); ++r)
    for (int64_t j = 0; j < batch.sequence_begin[r + 1] - batch.sequence_begin[r]; ++j)
      positions.push_back(j);
  for (int64_t anchor : batch.block_anchor)
    for (int64_t k = 0; k < batch.block_size; ++k) block_positions.push_back(anchor + k);
  positions.insert(positions.end(), block_positions.begin(), block_positions.end());

  const int64_t T = context_rows, M = block_rows, H = config.hidden_size;
  const auto size = [&](std::initializer_list<at::Tensor*> buffers, at::IntArrayRef sizes) {
    for (at::Tensor* buffer : buffers) shape(*buffer, sizes, options);
  };
  for (DecoderLayer& layer : layers) layer.start(T, M);
  size({&fc, &d_c}, {T, H});
  size({&c_scale}, {T});
  size({&final_scale}, {M});
  size({&h, &final, &d_h}, {M, H});
}

void Drafter::State::forward(const NamedTensors& parameters, const BlockBatch& batch) {
  start(batch);
  linear(batch.context, parameters.at("fc.weight"), fc);
  const at::Tensor c = layers[0].context();
  rms_norm(fc, parameters.at("hidden_norm.weight"), config.rms_norm_eps, c, c_scale);
  const at::Tensor ids =
      at::from_blob(const_cast<int64_t*>(batch.token_ids.data()), {block_rows}, at::kLong)
          .to(embedding.device());
  at::index_select_out(layers[0].h(), embedding, 0, ids);
  for (size_t i = 0; i < layers.size(); ++i) {
    if (i > 0) layers[i].context().copy_(c);
    layers[i].forward(parameters, layer_batch(batch),
                      i + 1 < layers.size() ? layers[i + 1].h() : h);
  }
  rms_norm(h, parameters.at("norm.weight"), config.rms_norm_eps, final, final_scale);
}

// From d_h, the gradient of `final`, to all gradients.
void Drafter::State::backward(const NamedTensors& parameters, const BlockBatch& batch,
                              const NamedTensors& gradients) {
  rms_norm_backward(d_h, h, parameters.at("norm.weight"), final_scale, d_h, /*accumulate=*/false,
                    gradients.at("norm.weight"));
  d_c.zero_();
  for (size_t i = layers.size(); i-- > 0;)
    layers[i].backward(parameters, gradients, layer_batch(batch), d_h, d_c);
  rms_norm_backward(d_c, fc, parameters.at("hidden_norm.weight"), c_scale, d_c,
                    /*accumulate=*/false, gradients.at("hidden_norm.weight"));
  linear_weight_gradient(d_c, batch.context, gradients.at("fc.weight"));
}

void Drafter::State::select_loss_rows(const std::vector<int64_t>& rows) {
  loss_rows = rows;
  const int64_t S = static_cast<int64_t>(rows.size());
  losses.assign(S, 0);
  loss_index = at::from_blob(loss_rows.data(), {S}, at::kLong).to(embedding.device());
  shape(loss_hidden, {S, config.hidden_size}, options);
  at::index_select_out(loss_hidden, final, 0, loss_index);
}

Drafter::Drafter(const DrafterConfig& config, at::Tensor embedding, at::Tensor head) {
  TORCH_CHECK(embedding.dim() == 2 && embedding.size(0) == config.vocab_size &&
                  embedding.size(1) == config.hidden_size,
              "the embedding is ", embedding.sizes(), ", not [vocab_size, hidden_size]");
  TORCH_CHECK(head.dim() == 2 && head.size(0) == config.draft_vocab_size &&
                  head.size(1) == config.hidden_size,
              "the head is ", head.sizes(), ", not [draft_vocab_size, hidden_size]");
  TORCH_CHECK(head.scalar_type() == embedding.scalar_type() && !config.layer_types.empty(),
              "embedding and head differ in dtype, or there is no layer");
  state_ = std::make_unique<State>(config, embedding, head);
}

Drafter::~Drafter() = default;

const DrafterConfig& Drafter::config() const { return state_->config; }

std::vector<at::Tensor> Drafter::largest_scores() const {
  std::vector<at::Tensor> scores;
  for (const DecoderLayer& layer : state_->layers) scores.push_back(layer.mixer().largest_scores());
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
    if (shape.initial || shape.shape.size() == 2) {
      Random random(seed, "initial " + shape.name);
      float* value = values.data_ptr<float>();
      for (int64_t i = 0; i < shape.count(); ++i) {
        value[i] = static_cast<float>(shape.initial ? shape.initial(random)
                                                    : config.initializer_range * random.normal());
      }
    }
    parameters.emplace(shape.name, std::move(values));
  }
  return parameters;
}

}  // namespace draftlab
