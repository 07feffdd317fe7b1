#include "model/drafter.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/json.h"
#include "kernels/frozen_head_loss.h"
#include "source_dir.h"
#include "testing/closeness.h"
#include "testing/golden_drafter.h"
#include "testing/reference_drafter.h"

namespace draftlab {
namespace {

using testing::ElementsAre;

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
  frozen_head_top(hidden, golden.head, targets, losses, {1, ids});
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
  TopTokens top{.k = 1};
  const LossResult loss = drafter.loss_and_top(golden.parameters, batch, top);
  const std::vector<int64_t> argmax = top.argmax();
  EXPECT_NEAR(loss.loss, specforge().at("dflash gamma 7").at("loss").as_double(), kGolden);
  int64_t right = 0;
  for (size_t row = 0; row < batch.labels.size(); ++row) {
    if (row % 4 == 0) {
      EXPECT_EQ(argmax[row], -1);
    }
    right += batch.weights[row] > 0 && argmax[row] == batch.labels[row];
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

// ---- The definition, under autograd ----

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
  c = recurrent_config();
  c.layer_types = {"gated_delta_net", "gated_delta_net"};
  all.emplace_back("recurrence only, anchors at and beside the first row, three sequences", c,
                   std::vector<int64_t>{9, 20, 6},
                   std::vector<std::vector<int64_t>>{{2, 5, 9}, {1, 3, 4, 11, 18, 20}, {0, 6}});
  c = recurrent_config();
  c.layer_types = {"gated_delta_net", "sliding_attention", "full_attention", "gated_delta_net"};
  c.layer_options["linear_conv_kernel_dim"] = 2;
  c.layer_options["linear_num_key_heads"] = 4;
  c.block_size = 5;
  all.emplace_back("recurrence, windows and full attention, beyond a chunk of rows", c,
                   std::vector<int64_t>{150, 70},
                   std::vector<std::vector<int64_t>>{{3, 64, 65, 149}, {0, 63, 70}});
  return all;
}

TEST(Drafter, LossAndAllGradientsEqualThoseOfTheDefinitionUnderAutograd) {
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

TEST(Drafter, RowsOfTheContextThatWereMadeBeforeGiveTheSameStates) {
  const GoldenDrafter golden;
  Drafter drafter(golden.config, golden.embedding, golden.head);
  BlockBatch batch = golden.batch(0);
  const at::Tensor whole = drafter.forward(golden.parameters, batch);
  const int64_t rows = batch.context.size(0), first = rows / 2;
  batch.context =
      at::cat({drafter.context_rows(golden.parameters, batch.context.narrow(0, 0, first)),
               drafter.context_rows(golden.parameters, batch.context.slice(0, first))});
  const at::Tensor behind = drafter.forward_behind(golden.parameters, batch);
  EXPECT_LT((behind - whole).abs().max().item<double>(), kGolden);  // float64
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

TEST(Drafter, LossAndMostLikelyTokensAreThoseOfTheWholeLogits) {
  for (const Problem& problem : problems()) {
    Drafter drafter(problem.config, problem.embedding, problem.head);
    TopTokens top{.k = 3};
    NamedTensors gradients;
    const LossResult evaluated = drafter.loss_and_top(problem.parameters, problem.batch, top);
    const LossResult trained =
        drafter.loss_and_gradients(problem.parameters, problem.batch, gradients);
    EXPECT_NEAR(evaluated.loss, trained.loss, 1e-10);
    EXPECT_EQ(evaluated.labels, trained.labels);
    const at::Tensor hidden = drafter.forward(problem.parameters, problem.batch);
    const at::Tensor log_p = hidden.matmul(problem.head.t()).log_softmax(1);
    const auto [values, ids] = log_p.topk(top.k);
    for (int64_t row = 0; row < hidden.size(0); ++row) {
      const bool anchor = row % problem.config.block_size == 0;
      EXPECT_EQ(top.argmax()[row], anchor ? -1 : ids[row][0].item<int64_t>());
      for (int64_t i = 0; i < top.k; ++i) {
        EXPECT_EQ(top.ids[row * top.k + i], anchor ? -1 : ids[row][i].item<int64_t>());
        if (!anchor) {
          EXPECT_NEAR(top.log_probabilities[row * top.k + i], values[row][i].item<double>(), 1e-10);
        }
      }
    }
  }
}

TEST(Drafter, ABatchWithoutALabelTeachesNothingWhateverTheLoss) {
  for (const char* loss : {"ce", "dpace", "kl"}) {
    Problem problem = problems()[0];
    std::fill(problem.batch.labels.begin(), problem.batch.labels.end(), -1);
    Drafter drafter(problem.config, problem.embedding, problem.head, parse_loss(loss, "test"));
    NamedTensors gradients;
    const LossResult result =
        drafter.loss_and_gradients(problem.parameters, problem.batch, gradients);
    EXPECT_FALSE(result.has_gradient());
    EXPECT_EQ(result.labels, 0);
    EXPECT_TRUE(std::isnan(result.loss) && std::isnan(result.cross_entropy));
    EXPECT_TRUE(gradients.empty()) << "nothing was written";
    TopTokens top{.k = 1};
    const LossResult evaluated = drafter.loss_and_top(problem.parameters, problem.batch, top);
    EXPECT_TRUE(std::isnan(evaluated.loss));
    EXPECT_EQ(evaluated.labels, 0);
  }
}

TEST(InitialParameters, AreAPureFunctionOfConfigAndSeedTensorByTensor) {
  DrafterConfig config = small_config();
  const NamedTensors a = initial_parameters(config, 3), b = initial_parameters(config, 3),
                     other = initial_parameters(config, 4);
  config.layer_types.push_back("full_attention");
  const NamedTensors deeper = initial_parameters(config, 3);
  EXPECT_FALSE(
      deeper.at("layers.0.mlp.up_proj.weight").equal(deeper.at("layers.1.mlp.up_proj.weight")))
      << "tensors of one shape start apart";
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
