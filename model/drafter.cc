#include "model/drafter.h"

#include <ATen/ATen.h>

#include <limits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/stopwatch.h"
#include "kernels/rms_norm.h"
#include "model/decoder_layer.h"
#include "model/linear.h"

namespace draftlab {

struct Drafter::State {
  DrafterConfig config;
  at::Tensor embedding;
  BlockLoss loss;
  at::TensorOptions options;
  Workspace workspace;
  std::vector<DecoderLayer> layers;

  // Of the batch at hand.
  int64_t context_rows = 0, block_rows = 0;         // T, M
  std::vector<int64_t> block_positions, positions;  // [M], [T + M] context rows first

  // Forward.
  at::Tensor fc, c_scale;            // [T, H] fc(context), [T] its 1/rms; the layers have c itself
  at::Tensor h, final, final_scale;  // [M, H] after the last layer, norm(h), [M]

  // Backward.
  at::Tensor d_c, d_h;  // [T, H], [M, H]

  State(const DrafterConfig& config, const at::Tensor& embedding, const at::Tensor& head,
        const LossConfig& loss);
  void start(const BlockBatch& batch, int64_t context_width);
  void forward(const NamedTensors& parameters, const BlockBatch& batch);
  // From layers[0].context() on.
  void forward_layers(const NamedTensors& parameters, const BlockBatch& batch);
  void backward(const NamedTensors& parameters, const BlockBatch& batch,
                const NamedTensors& gradients);

  LayerBatch layer_batch(const BlockBatch& batch) const {
    return {{batch.sequence_begin, batch.block_sequence, batch.block_anchor, batch.block_size},
            positions,
            block_positions};
  }
};

Drafter::State::State(const DrafterConfig& config, const at::Tensor& embedding,
                      const at::Tensor& head, const LossConfig& loss)
    : config(config),
      embedding(embedding.contiguous()),
      loss(loss, head),
      options(embedding.options()),
      workspace(options) {
  for (int64_t i = 0; i < config.num_hidden_layers(); ++i)
    layers.emplace_back(config, i, workspace);
}

// Positions, and the shapes of all buffers.
void Drafter::State::start(const BlockBatch& batch, int64_t context_width) {
  TORCH_CHECK(batch.block_size == config.block_size, "the batch has blocks of ", batch.block_size,
              ", the drafter of ", config.block_size);
  context_rows = batch.sequence_begin.back();
  block_rows = batch.blocks() * batch.block_size;
  TORCH_CHECK(batch.context.size(0) == context_rows && batch.context.size(1) == context_width &&
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
  start(batch, config.num_taps * config.hidden_size);
  linear(batch.context, parameters.at("fc.weight"), fc);
  rms_norm(fc, parameters.at("hidden_norm.weight"), config.rms_norm_eps, layers[0].context(),
           c_scale);
  forward_layers(parameters, batch);
}

void Drafter::State::forward_layers(const NamedTensors& parameters, const BlockBatch& batch) {
  const at::Tensor c = layers[0].context();
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

Drafter::Drafter(const DrafterConfig& config, at::Tensor embedding, at::Tensor head,
                 const LossConfig& loss) {
  TORCH_CHECK(embedding.dim() == 2 && embedding.size(0) == config.vocab_size &&
                  embedding.size(1) == config.hidden_size,
              "the embedding is ", embedding.sizes(), ", not [vocab_size, hidden_size]");
  TORCH_CHECK(head.dim() == 2 && head.size(0) == config.draft_vocab_size &&
                  head.size(1) == config.hidden_size,
              "the head is ", head.sizes(), ", not [draft_vocab_size, hidden_size]");
  TORCH_CHECK(head.scalar_type() == embedding.scalar_type() && !config.layer_types.empty(),
              "embedding and head differ in dtype, or there is no layer");
  state_ = std::make_unique<State>(config, embedding, head, loss);
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

at::Tensor Drafter::context_rows(const NamedTensors& parameters, const at::Tensor& taps) {
  const DrafterConfig& config = state_->config;
  at::Tensor fc = at::empty({taps.size(0), config.hidden_size}, state_->options);
  const at::Tensor c = at::empty_like(fc), scale = at::empty({taps.size(0)}, state_->options);
  linear(taps, parameters.at("fc.weight"), fc);
  rms_norm(fc, parameters.at("hidden_norm.weight"), config.rms_norm_eps, c, scale);
  return c;
}

at::Tensor Drafter::forward_behind(const NamedTensors& parameters, const BlockBatch& batch) {
  state_->start(batch, state_->config.hidden_size);
  state_->layers[0].context().copy_(batch.context);
  state_->forward_layers(parameters, batch);
  return state_->final.clone();
}

LossResult Drafter::loss_and_gradients(const NamedTensors& parameters, const BlockBatch& batch,
                                       NamedTensors& gradients) {
  State& s = *state_;
  Stopwatch watch;
  if (BlockLoss::labels(batch) == 0) {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    return {.loss = kNaN, .cross_entropy = kNaN};
  }
  for (const auto& [name, parameter] : parameters) {
    at::Tensor& gradient = gradients[name];
    if (!gradient.defined()) gradient = at::empty_like(parameter, at::MemoryFormat::Contiguous);
  }
  s.forward(parameters, batch);
  LossResult result = s.loss.loss_and_gradient(s.final, batch, s.d_h);
  result.forward_seconds = watch.lap();
  s.backward(parameters, batch, gradients);
  return result;
}

LossResult Drafter::loss_and_top(const NamedTensors& parameters, const BlockBatch& batch,
                                 TopTokens& top) {
  state_->forward(parameters, batch);
  return state_->loss.cross_entropy_and_top(state_->final, batch, top);
}

std::vector<double> Drafter::expected_acceptance(const BlockBatch& batch,
                                                 const at::Tensor& whole_head) {
  return state_->loss.expected_acceptance(state_->final, batch, whole_head);
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
