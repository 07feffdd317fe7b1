#include "model/drafter.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "kernels/frozen_head_loss.h"
#include "source_dir.h"
#include "testing/closeness.h"
#include "testing/golden_drafter.h"

namespace draftlab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---- Golden values of SpecForge's classes ----

constexpr double kGolden = 1e-10;

const JsonObject& specforge() {
  static const Json file = read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/golden_peers.json");
  return file.at("specforge").at("f64").as_object();
}

double norm_of(const NamedTensors& tensors) {
  double squares = 0;
  for (const auto& [_, tensor] : tensors) squares += tensor.square().sum().item<double>();
  return std::sqrt(squares);
}

TEST(GoldenDrafter, AnchorsAndTargets) {
  const GoldenDrafter golden;
  EXPECT_EQ(JsonArray(golden.anchors.begin(), golden.anchors.end()), specforge().at("anchors"));
  const BlockBatch batch = golden.batch(0);
  const std::vector<std::vector<int>> mask = {
      {0, 1, 1, 0}, {0, 1, 0, 1}, {0, 1, 1, 1}, {0, 1, 1, 0}, {0, 1, 0, 0}};
  for (int64_t n = 0; n < 5; ++n) {
    for (int64_t k = 0; k < 4; ++k) {
      const size_t row = n * 4 + k;
      EXPECT_EQ(batch.weights[row], mask[n][k]);
      EXPECT_EQ(batch.token_ids[row], k == 0 ? (7 * golden.anchors[n] + 3) % 31 : 31);
      const int64_t target = specforge().at("targets").at(n).at(k).as_int64();
      EXPECT_EQ(batch.labels[row], mask[n][k] ? target : -1);
    }
  }
}

TEST(GoldenDrafter, CrossEntropyOfEverySlotAndLogits) {
  const GoldenDrafter golden;
  Drafter drafter(golden.config, golden.embedding, golden.head);
  const at::Tensor hidden = drafter.forward(golden.parameters, golden.batch(7));
  std::vector<int64_t> targets, ids(20);
  for (const Json& block : specforge().at("targets").as_array())
    for (const Json& target : block.as_array()) targets.push_back(target.as_int64());
  std::vector<double> losses(20);
  frozen_head_argmax(hidden, golden.head, targets, losses, ids);
  for (size_t row = 0; row < 20; ++row)
    EXPECT_NEAR(losses[row], specforge().at("ce").at(row).as_double(), kGolden);

  const at::Tensor logits = hidden.matmul(golden.head.t());
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(logits[1][i].item<double>(),
                specforge().at("logits a=3 slot1 first6").at(i).as_double(), kGolden);
    EXPECT_NEAR(logits[4 * 4 + 3][i].item<double>(),
                specforge().at("logits a=9 slot3 first6").at(i).as_double(), kGolden);
  }
}

TEST(GoldenDrafter, LossAndGradientsWithAndWithoutDecay) {
  const GoldenDrafter golden;
  for (const auto& [name, gamma] : {std::pair("dflash gamma 7", 7.0), {"dflash gamma null", 0.0}}) {
    const JsonObject& expected = specforge().at(name).as_object();
    Drafter drafter(golden.config, golden.embedding, golden.head);
    NamedTensors gradients;
    const LossResult loss =
        drafter.loss_and_gradients(golden.parameters, golden.batch(gamma), gradients);
    EXPECT_NEAR(loss.loss, expected.at("loss").as_double(), kGolden);
    EXPECT_NEAR(loss.numerator, expected.at("num").as_double(), kGolden);
    EXPECT_NEAR(loss.denominator, expected.at("den").as_double(), kGolden);
    EXPECT_EQ(loss.labels, 10);
    EXPECT_NEAR(norm_of(gradients), expected.at("grad_norm").as_double(), kGolden);
    ASSERT_EQ(expected.at("grads").as_object().size(), gradients.size());
    for (const auto& [key, value] : expected.at("grads").as_object()) {
      const at::Tensor& gradient = gradients.at(key);
      EXPECT_NEAR(gradient.norm().item<double>(), value.at(0).as_double(), kGolden) << key;
      EXPECT_NEAR(gradient.flatten()[0].item<double>(), value.at(1).as_double(), kGolden) << key;
    }
  }
}

TEST(GoldenDrafter, OneSlotOfTenIsRight) {
  const GoldenDrafter golden;
  Drafter drafter(golden.config, golden.embedding, golden.head);
  const BlockBatch batch = golden.batch(7);
  at::Tensor argmax;
  const LossResult loss = drafter.loss_and_argmax(golden.parameters, batch, argmax);
  EXPECT_NEAR(loss.loss, specforge().at("dflash gamma 7").at("loss").as_double(), kGolden);
  int64_t right = 0;
  for (size_t row = 0; row < batch.labels.size(); ++row) {
    if (row % 4 == 0) {
      EXPECT_EQ(argmax[row].item<int64_t>(), -1);
    }
    right += batch.weights[row] > 0 && argmax[row].item<int64_t>() == batch.labels[row];
  }
  EXPECT_EQ(right, 1);
}

TEST(GoldenDrafter, ContextBehindTheLastAnchorMayBeCut) {
  const GoldenDrafter golden;
  Drafter drafter(golden.config, golden.embedding, golden.head);
  const at::Tensor cut = drafter.forward(golden.parameters, golden.batch(7));
  const at::Tensor whole = drafter.forward(golden.parameters, golden.batch(7, /*whole=*/true));
  expect_close(cut, whole);
}

// ---- The definition, with a dense mask, under autograd ----

at::Tensor reference_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return weight * (x * (x.square().mean(-1, true) + eps).rsqrt());
}

at::Tensor reference_rotary(const at::Tensor& x, const at::Tensor& positions, double theta) {
  const int64_t n = x.size(-1);  // x [rows, heads, n]
  const at::Tensor frequency = at::pow(theta, at::arange(0, n, 2, at::kDouble) / -n);
  const at::Tensor angle = at::outer(positions, frequency).repeat({1, 2}).unsqueeze(1);
  const at::Tensor turned = at::cat({-x.slice(2, n / 2), x.slice(2, 0, n / 2)}, 2);
  return x * angle.cos() + turned * angle.sin();
}

at::Tensor reference_hidden(const DrafterConfig& config, const NamedTensors& p,
                            const at::Tensor& embedding, const BlockBatch& batch) {
  const double eps = config.rms_norm_eps;
  const int64_t context = batch.sequence_begin.back(), B = batch.block_size;
  const int64_t rows = batch.blocks() * B, nh = config.layer_option("num_attention_heads"),
                nkv = config.layer_option("num_key_value_heads"),
                hd = config.layer_option("head_dim");
  at::Tensor positions = at::empty({context + rows}, at::kDouble);
  at::Tensor owner = at::empty({context}, at::kLong);  // sequence of a context row
  for (size_t r = 0; r + 1 < batch.sequence_begin.size(); ++r) {
    const int64_t begin = batch.sequence_begin[r], end = batch.sequence_begin[r + 1];
    positions.slice(0, begin, end).copy_(at::arange(end - begin));
    owner.slice(0, begin, end).fill_(static_cast<int64_t>(r));
  }
  for (int64_t n = 0; n < batch.blocks(); ++n)
    positions.slice(0, context + n * B, context + (n + 1) * B)
        .copy_(at::arange(B) + batch.block_anchor[n]);

  const at::Tensor c =
      reference_norm(batch.context.matmul(p.at("fc.weight").t()), p.at("hidden_norm.weight"), eps);
  at::Tensor h = embedding.index_select(0, at::tensor(batch.token_ids));
  for (int64_t i = 0; i < config.num_hidden_layers(); ++i) {
    const auto w = [&](const std::string& name) {
      return p.at("layers." + std::to_string(i) + "." + name + ".weight");
    };
    const bool sliding = config.layer_types[i] == "sliding_attention";
    at::Tensor mask = at::zeros({rows, context + rows}, at::kBool);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t n = row / B, o = row % B, a = batch.block_anchor[n];
      for (int64_t j = 0; j < context; ++j) {
        const int64_t position = positions[j].item<int64_t>();
        if (owner[j].item<int64_t>() != batch.block_sequence[n] || position >= a) continue;
        if (sliding && position < a + o - (config.layer_option("sliding_window") - 1)) continue;
        mask[row][j] = true;
      }
      mask[row].slice(0, context + n * B, context + (sliding ? row + 1 : (n + 1) * B)).fill_(true);
    }
    const at::Tensor x = reference_norm(h, w("input_layernorm"), eps);
    const at::Tensor both = at::cat({c, x});
    at::Tensor q = x.matmul(w("self_attn.q_proj").t()).view({rows, nh, hd});
    at::Tensor k = both.matmul(w("self_attn.k_proj").t()).view({-1, nkv, hd});
    const at::Tensor v = both.matmul(w("self_attn.v_proj").t()).view({-1, nkv, hd});
    q = reference_rotary(reference_norm(q, w("self_attn.q_norm"), eps), positions.slice(0, context),
                         config.rope_theta);
    k = reference_rotary(reference_norm(k, w("self_attn.k_norm"), eps), positions,
                         config.rope_theta);
    const auto spread = [&](const at::Tensor& t) {
      return t.repeat_interleave(nh / nkv, 1).transpose(0, 1);
    };
    const at::Tensor scores = q.transpose(0, 1).matmul(spread(k).transpose(1, 2)) / std::sqrt(hd);
    const at::Tensor weights = scores.masked_fill(mask.logical_not(), -INFINITY).softmax(-1);
    const at::Tensor mixed = weights.matmul(spread(v)).transpose(0, 1).reshape({rows, nh * hd});
    h = h + mixed.matmul(w("self_attn.o_proj").t());
    const at::Tensor y = reference_norm(h, w("post_attention_layernorm"), eps);
    h = h + (at::silu(y.matmul(w("mlp.gate_proj").t())) * y.matmul(w("mlp.up_proj").t()))
                .matmul(w("mlp.down_proj").t());
  }
  return reference_norm(h, p.at("norm.weight"), eps);
}

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
      parameters[shape.name] = shape.shape.size() == 2 ? noise : 1 + noise;
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

DrafterConfig small_config() {
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

std::vector<Problem> problems() {
  std::vector<Problem> all;
  all.emplace_back("mixed layers, two keys heads for four, three sequences", small_config(),
                   std::vector<int64_t>{9, 20, 6},
                   std::vector<std::vector<int64_t>>{{2, 5, 9}, {1, 3, 4, 11, 18, 20}, {0, 6}});
  DrafterConfig c = small_config();
  c.layer_types = {"full_attention"};
  c.layer_options["sliding_window"] = 0;
  c.layer_options["num_key_value_heads"] = 4;
  c.num_taps = 1;
  c.block_size = 5;
  all.emplace_back("full attention, one tap", c, std::vector<int64_t>{15},
                   std::vector<std::vector<int64_t>>{{3, 4, 5, 14}});
  c = small_config();
  c.layer_types = {"sliding_attention", "sliding_attention", "sliding_attention"};
  c.layer_options["sliding_window"] = 2;
  c.layer_options["num_key_value_heads"] = 1;
  c.num_taps = 5;
  all.emplace_back("narrow windows, one key head, five taps", c, std::vector<int64_t>{15, 3},
                   std::vector<std::vector<int64_t>>{{3, 4, 5, 14}, {1, 2, 3}});
  c = small_config();
  c.layer_options["sliding_window"] = 500;
  c.draft_vocab_size = 17;
  c.num_taps = 3;
  all.emplace_back("window beyond the sequence, reduced draft vocabulary", c,
                   std::vector<int64_t>{12, 12},
                   std::vector<std::vector<int64_t>>{{2, 7, 12}, {4, 9}});
  return all;
}

TEST(Drafter, LossAndAllGradientsEqualThoseOfADenseMaskUnderAutograd) {
  for (const Problem& problem : problems()) {
    SCOPED_TRACE(problem.name);
    NamedTensors parameters;
    for (const auto& [name, tensor] : problem.parameters)
      parameters[name] = tensor.clone().requires_grad_();
    const at::Tensor hidden =
        reference_hidden(problem.config, parameters, problem.embedding, problem.batch);
    const at::Tensor labels = at::tensor(problem.batch.labels).clamp_min(0);
    const at::Tensor weights = at::tensor(problem.batch.weights, at::kDouble);
    const at::Tensor losses =
        at::cross_entropy_loss(hidden.matmul(problem.head.t()), labels, {}, at::Reduction::None);
    const at::Tensor loss = (losses * weights).sum() / weights.sum();
    loss.backward();

    Drafter drafter(problem.config, problem.embedding, problem.head);
    expect_close(drafter.forward(problem.parameters, problem.batch), hidden.detach());
    NamedTensors gradients;
    const LossResult result =
        drafter.loss_and_gradients(problem.parameters, problem.batch, gradients);
    EXPECT_NEAR(result.loss, loss.item<double>(), 1e-10);
    ASSERT_EQ(gradients.size(), parameters.size());
    for (const auto& [name, parameter] : parameters) {
      SCOPED_TRACE(name);
      ASSERT_GT(parameter.grad().abs().max().item<double>(), 1e-6);
      expect_close(gradients.at(name), parameter.grad());
    }
  }
}

TEST(Drafter, SinglePrecisionAgreesWithDouble) {
  for (const Problem& exact : problems()) {
    SCOPED_TRACE(exact.name);
    const Problem rounded = exact.to(at::kFloat);
    Drafter exact_drafter(exact.config, exact.embedding, exact.head);
    Drafter rounded_drafter(rounded.config, rounded.embedding, rounded.head);
    NamedTensors exact_gradients, gradients;
    const LossResult expected =
        exact_drafter.loss_and_gradients(exact.parameters, exact.batch, exact_gradients);
    const LossResult loss =
        rounded_drafter.loss_and_gradients(rounded.parameters, rounded.batch, gradients);
    EXPECT_NEAR(loss.loss, expected.loss, 1e-4);
    for (const auto& [name, gradient] : gradients) {
      SCOPED_TRACE(name);
      expect_close(gradient, exact_gradients.at(name));
    }
  }
}

TEST(Drafter, ContextAtOrBehindAnAnchorChangesNoBitOfItsBlock) {
  for (const Problem& exact : problems()) {
    SCOPED_TRACE(exact.name);
    const Problem problem = exact.to(at::kFloat);
    const BlockBatch& batch = problem.batch;
    Drafter drafter(problem.config, problem.embedding, problem.head);
    const at::Tensor before = drafter.forward(problem.parameters, batch);
    for (int64_t n = 0; n < batch.blocks(); ++n) {
      const int64_t begin = batch.sequence_begin[batch.block_sequence[n]];
      BlockBatch perturbed = batch;
      perturbed.context = batch.context + 5;  // every row, also of the other sequences...
      const int64_t end = begin + batch.block_anchor[n];
      perturbed.context.slice(0, begin, end)
          .copy_(batch.context.slice(0, begin, end));  // ...but these
      const at::Tensor after = drafter.forward(problem.parameters, perturbed);
      const int64_t row = n * batch.block_size;
      EXPECT_TRUE(before.slice(0, row, row + batch.block_size)
                      .equal(after.slice(0, row, row + batch.block_size)))
          << "block " << n;
    }
  }
}

TEST(Drafter, TheRowBeforeAnAnchorDoesReachItsBlock) {
  const Problem problem = problems()[0];
  Drafter drafter(problem.config, problem.embedding, problem.head);
  const at::Tensor before = drafter.forward(problem.parameters, problem.batch);
  BlockBatch perturbed = problem.batch;
  perturbed.context = problem.batch.context.clone();
  perturbed.context[4].add_(5);  // anchors 2, 5, 9 of the first sequence
  const at::Tensor after = drafter.forward(problem.parameters, perturbed);
  EXPECT_TRUE(before.slice(0, 0, 3).equal(after.slice(0, 0, 3)));
  EXPECT_FALSE(before.slice(0, 3, 6).allclose(after.slice(0, 3, 6)));
}

TEST(Drafter, BlocksDoNotSeeEachOther) {
  const Problem problem = problems()[0].to(at::kFloat);
  Drafter drafter(problem.config, problem.embedding, problem.head);
  const at::Tensor before = drafter.forward(problem.parameters, problem.batch);
  BlockBatch other = problem.batch;
  other.token_ids[3] = (other.token_ids[3] + 1) % problem.config.vocab_size;  // anchor of block 1
  const at::Tensor after = drafter.forward(problem.parameters, other);
  EXPECT_FALSE(before.slice(0, 3, 6).equal(after.slice(0, 3, 6)));
  EXPECT_TRUE(before.slice(0, 0, 3).equal(after.slice(0, 0, 3)));
  EXPECT_TRUE(before.slice(0, 6).equal(after.slice(0, 6)));
}

TEST(Drafter, GivesTheSameBitsAgainAlsoAfterABatchOfAnotherShape) {
  const Problem problem = problems()[0].to(at::kFloat);
  Drafter drafter(problem.config, problem.embedding, problem.head);
  NamedTensors first, other, second;
  const LossResult before = drafter.loss_and_gradients(problem.parameters, problem.batch, first);
  const Problem larger =
      Problem("", small_config(), {30, 40}, {{3, 20, 29}, {2, 3, 4, 5, 39}}).to(at::kFloat);
  drafter.loss_and_gradients(problem.parameters, larger.batch, other);
  const LossResult after = drafter.loss_and_gradients(problem.parameters, problem.batch, second);
  EXPECT_EQ(before.loss, after.loss);
  for (const auto& [name, gradient] : first) EXPECT_TRUE(gradient.equal(second.at(name))) << name;
}

TEST(Drafter, LossAndArgmaxAreThoseOfTheWholeLogits) {
  for (const Problem& problem : problems()) {
    Drafter drafter(problem.config, problem.embedding, problem.head);
    at::Tensor argmax;
    NamedTensors gradients;
    const LossResult evaluated = drafter.loss_and_argmax(problem.parameters, problem.batch, argmax);
    const LossResult trained =
        drafter.loss_and_gradients(problem.parameters, problem.batch, gradients);
    EXPECT_NEAR(evaluated.loss, trained.loss, 1e-10);
    EXPECT_EQ(evaluated.labels, trained.labels);
    const at::Tensor hidden = drafter.forward(problem.parameters, problem.batch);
    at::Tensor expected = hidden.matmul(problem.head.t()).argmax(1);
    expected.view({-1, problem.config.block_size}).select(1, 0).fill_(-1);
    EXPECT_TRUE(argmax.equal(expected));
  }
}

TEST(Drafter, ABatchWithoutALabelIsAnError) {
  Problem problem = problems()[0];
  std::fill(problem.batch.labels.begin(), problem.batch.labels.end(), -1);
  std::fill(problem.batch.weights.begin(), problem.batch.weights.end(), 0);
  Drafter drafter(problem.config, problem.embedding, problem.head);
  NamedTensors gradients;
  EXPECT_THAT([&] { drafter.loss_and_gradients(problem.parameters, problem.batch, gradients); },
              testing::ThrowsMessage<Error>(HasSubstr("no block has a supervised label")));
  at::Tensor argmax;
  EXPECT_TRUE(std::isnan(drafter.loss_and_argmax(problem.parameters, problem.batch, argmax).loss));
}

TEST(InitialParameters, AreAPureFunctionOfConfigAndSeedTensorByTensor) {
  DrafterConfig config = small_config();
  const NamedTensors a = initial_parameters(config, 3), b = initial_parameters(config, 3),
                     other = initial_parameters(config, 4);
  config.layer_types.push_back("full_attention");
  const NamedTensors deeper = initial_parameters(config, 3);
  for (const auto& [name, tensor] : a) {
    EXPECT_TRUE(tensor.equal(b.at(name)));
    EXPECT_TRUE(tensor.equal(deeper.at(name))) << "another layer changes nothing in the others";
    EXPECT_EQ(tensor.scalar_type(), at::kFloat);
    if (tensor.dim() == 1) {
      EXPECT_TRUE(tensor.eq(1).all().item<bool>());
    } else {
      EXPECT_FALSE(tensor.equal(other.at(name)));
    }
  }
}

TEST(InitialParameters, HaveTheConfiguredDeviation) {
  DrafterConfig config = small_config();
  config.hidden_size = 100;
  config.num_taps = 4;
  config.initializer_range = 0.05;
  const at::Tensor fc = initial_parameters(config, 1).at("fc.weight");
  EXPECT_NEAR(fc.std().item<double>(), 0.05, 4 * 0.05 / std::sqrt(2.0 * 40000));
  EXPECT_NEAR(fc.mean().item<double>(), 0, 4 * 0.05 / 200);
}

}  // namespace
}  // namespace draftlab
