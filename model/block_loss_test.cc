#include "model/block_loss.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/drafter.h"
#include "model/losses/loss_rule.h"
#include "source_dir.h"
#include "testing/closeness.h"
#include "testing/golden_drafter.h"
#include "testing/reference_drafter.h"

namespace draftlab {
namespace {

constexpr double kGolden = 1e-10;

LossConfig loss_of(std::string_view text) { return parse_loss(parse_json(text, "test"), "test"); }

const JsonObject& peers(const char* project) {
  static const Json file = read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/golden_peers.json");
  return file.at(project).at("f64").as_object();
}

double norm_of(const NamedTensors& tensors) {
  double squares = 0;
  for (const auto& [_, tensor] : tensors) squares += tensor.square().sum().item<double>();
  return std::sqrt(squares);
}

void expect_golden_gradients(const NamedTensors& gradients, const JsonObject& expected) {
  EXPECT_NEAR(norm_of(gradients), expected.at("grad_norm").as_double(), kGolden);
  const Json* grads = expected.if_contains("grads");
  if (grads == nullptr) return;
  ASSERT_EQ(grads->as_object().size(), gradients.size());
  for (const auto& [key, value] : grads->as_object()) {
    const at::Tensor& gradient = gradients.at(key);
    EXPECT_NEAR(gradient.norm().item<double>(), value.at(0).as_double(), kGolden) << key;
    EXPECT_NEAR(gradient.flatten()[0].item<double>(), value.at(1).as_double(), kGolden) << key;
  }
}

// ---- SpecForge's classes ----

TEST(GoldenLoss, DpaceOfSpecForgeInItsThreeVariants) {
  const GoldenDrafter golden;
  for (const auto& [name, variant] :
       {std::pair("dpace .5", "dpace"),
        {"dpace-cumulative-confidence-only", "cumulative-confidence-only"},
        {"dpace-continuation-value-only", "continuation-value-only"}}) {
    SCOPED_TRACE(name);
    const JsonObject& expected = peers("specforge").at(name).as_object();
    const LossConfig config = parse_loss(
        JsonObject{{"kind", "dpace"}, {"variant", variant}, {"normalize", "sequences"}}, "test");
    Drafter drafter(golden.config, golden.embedding, golden.head, config);
    NamedTensors gradients;
    // Whatever gamma is: the loss weighs the slots itself.
    const LossResult loss =
        drafter.loss_and_gradients(golden.parameters, golden.batch(7), gradients);
    EXPECT_NEAR(loss.loss, expected.at("loss").as_double(), kGolden);
    EXPECT_NEAR(loss.numerator, expected.at("num").as_double(), kGolden);
    EXPECT_EQ(loss.denominator, expected.at("den").as_double());
    EXPECT_EQ(loss.labels, 10);
    EXPECT_NEAR(loss.cross_entropy, peers("specforge").at("dflash gamma 7").at("loss").as_double(),
                kGolden);
    expect_golden_gradients(gradients, expected);
  }
}

// ---- speculators' classes ----

// One of its cases as a batch: documents are sequences, labels the target's argmax.
struct SpeculatorsCase {
  GoldenDrafter golden;
  const JsonObject& expected;
  WindowRule window = WindowRule::kSpeculators;
  BlockBatch batch;

  SpeculatorsCase(const char* name, std::vector<int64_t> sequence_begin)
      : expected(peers("speculators").at(name).as_object()) {
    batch.block_size = golden.config.block_size;
    batch.sequence_begin = std::move(sequence_begin);
    batch.context = golden.hidden.slice(0, 0, batch.sequence_begin.back());
    const auto& anchors = expected.at("anchors").as_array();
    for (size_t n = 0; n < anchors.size(); ++n) {
      const int64_t anchor = anchors[n].as_int64();
      int64_t sequence = 0;
      while (anchor >= batch.sequence_begin[sequence + 1]) ++sequence;
      batch.block_sequence.push_back(sequence);
      batch.block_anchor.push_back(anchor - batch.sequence_begin[sequence]);
      for (int64_t k = 0; k < batch.block_size; ++k) {
        const bool supervised = expected.at("mask").at(n).at(k).as_int64() != 0;
        batch.token_ids.push_back(k == 0 ? (7 * anchor + 3) % 31 : golden.config.mask_token_id);
        batch.labels.push_back(
            supervised ? expected.at("labels (verifier argmax)").at(n).at(k).as_int64() : -1);
        batch.weights.push_back(supervised ? 1 : 0);
        batch.target_rows.push_back(supervised ? anchor + k - 1 : -1);
      }
    }
    const at::Tensor last_hidden = GoldenDrafter::sequence(104, {12, 16}, 4, 0);
    batch.target_hidden =
        reference_norm(last_hidden, GoldenDrafter::sequence(105, {16}, 0.2, 1), 1e-6);
  }

  BlockBatch with_gamma(double gamma) const {
    BlockBatch weighted = batch;
    for (size_t row = 0; row < weighted.weights.size(); ++row) {
      const auto slot = static_cast<double>(row % batch.block_size);
      weighted.weights[row] *= std::exp(-(slot - 1) / gamma);
    }
    return weighted;
  }
};

struct SpeculatorsLoss {
  const char* name;
  const char* loss;
  double gamma;
};
constexpr SpeculatorsLoss kSpeculatorsLosses[] = {
    {"ce fixed-exp-decay gamma 4", R"({"kind": "ce", "normalize": "labels"})", 4},
    {"ce fixed-exp-decay gamma 7", R"({"kind": "ce", "normalize": "labels"})", 7},
    {"ce dpace .5", R"("dpace")", 4},
    {"kl_div gamma 4", R"({"kind": "kl", "normalize": "labels"})", 4},
    {"rkl gamma 4", R"({"kind": "rkl", "normalize": "labels"})", 4},
    {"jsd gamma 4", R"({"kind": "jsd", "normalize": "labels"})", 4},
    {"tv gamma 4", R"({"kind": "tv", "normalize": "labels"})", 4},
    {"nla gamma 4", R"({"kind": "nla", "normalize": "labels"})", 4},
    {"lk_hybrid gamma 4", R"({"kind": "lk_hybrid", "normalize": "labels"})", 4},
    {R"({"ce":0.1,"tv":0.9} gamma 4)", R"({"ce": 0.1, "tv": 0.9, "normalize": "labels"})", 4}};

std::vector<std::pair<SpeculatorsCase, bool>> speculators_cases() {
  std::vector<std::pair<SpeculatorsCase, bool>> all;  // and whether all layers are full
  all.emplace_back(SpeculatorsCase("one document, max_anchors 4", {0, 12}), false);
  all.emplace_back(SpeculatorsCase("two documents + pad, max_anchors 4", {0, 6, 11}), false);
  all.emplace_back(SpeculatorsCase("both layers full, one document, max_anchors 4", {0, 12}), true);
  for (auto& [one, full] : all) {
    if (full) one.golden.config.layer_types = {"full_attention", "full_attention"};
  }
  return all;
}

TEST(GoldenLoss, EveryLossOfSpeculatorsAndItsGradient) {
  for (const auto& [one, _] : speculators_cases()) {
    const GoldenDrafter& golden = one.golden;
    NamedTensors parameters;
    for (const auto& [name, tensor] : golden.parameters)
      parameters[name] = tensor.clone().requires_grad_();
    const at::Tensor hidden = reference_hidden(golden.config, parameters, golden.embedding,
                                               one.batch, WindowRule::kSpeculators);
    const at::Tensor logits = hidden.detach().matmul(golden.head.t());
    const at::Tensor target = one.batch.target_hidden.matmul(golden.head.t());
    for (int64_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(logits[1][i].item<double>(),
                  one.expected.at("logits block0 slot1 first6").at(i).as_double(), kGolden);
      EXPECT_NEAR(target[3][i].item<double>(),
                  one.expected.at("target logits block0 slot1 first6").at(i).as_double(), kGolden);
    }
    for (const SpeculatorsLoss& each : kSpeculatorsLosses) {
      SCOPED_TRACE(each.name);
      const JsonObject& expected = one.expected.at(each.name).as_object();
      BlockLoss loss(loss_of(each.loss), golden.head);
      at::Tensor d_hidden = at::full_like(logits.slice(1, 0, 16), NAN).contiguous();
      const LossResult result =
          loss.loss_and_gradient(hidden.detach(), one.with_gamma(each.gamma), d_hidden);
      EXPECT_NEAR(result.loss, expected.at("loss").as_double(), kGolden);
      EXPECT_EQ(result.labels, 9);
      for (auto& [name, parameter] : parameters) {
        if (parameter.grad().defined()) parameter.mutable_grad().zero_();
      }
      hidden.backward(d_hidden, /*retain_graph=*/true);
      NamedTensors gradients;
      for (const auto& [name, parameter] : parameters) gradients[name] = parameter.grad();
      expect_golden_gradients(gradients, expected);
    }
  }
}

TEST(GoldenLoss, ADrafterOfFullLayersTrainsAsInSpeculators) {
  const SpeculatorsCase one = speculators_cases().back().first;
  for (const SpeculatorsLoss& each : kSpeculatorsLosses) {
    SCOPED_TRACE(each.name);
    Drafter drafter(one.golden.config, one.golden.embedding, one.golden.head, loss_of(each.loss));
    NamedTensors gradients;
    const LossResult result =
        drafter.loss_and_gradients(one.golden.parameters, one.with_gamma(each.gamma), gradients);
    const JsonObject& expected = one.expected.at(each.name).as_object();
    EXPECT_NEAR(result.loss, expected.at("loss").as_double(), kGolden);
    expect_golden_gradients(gradients, expected);
  }
}

// ---- Properties ----

struct Problem {
  BlockBatch batch;
  at::Tensor hidden, head, whole_head;

  // Three blocks of four slots in two sequences, a few unsupervised, one with a label outside of
  // the draft vocabulary of 20 of 30 tokens.
  Problem() {
    at::manual_seed(4);
    batch.block_size = 4;
    batch.sequence_begin = {0, 4, 9};
    batch.block_sequence = {0, 0, 1};
    batch.block_anchor = {2, 4, 5};
    batch.labels = {-1, 3, 8, -1, -1, 5, -1, 19, -1, 0, 7, 11};
    batch.weights = {0, 1, 0.5, 0, 0, 1, 0.5, 0.25, 0, 1, 0.5, 0.25};
    batch.target_rows = {-1, 2, 3, -1, -1, 3, 4, 0, -1, 1, 2, 5};
    batch.token_ids.assign(12, 0);
    hidden = at::randn({12, 6}, at::kDouble);
    whole_head = at::randn({30, 6}, at::kDouble);
    head = whole_head.slice(0, 0, 20).contiguous();
    batch.target_hidden = at::randn({6, 6}, at::kDouble);
  }

  // The loss of a row for a term, as its plain form says.
  at::Tensor plain(const std::string& kind) const {
    const at::Tensor rows = at::tensor(batch.target_rows).clamp_min(0);
    const at::Tensor log_p =
        batch.target_hidden.index_select(0, rows).matmul(head.t()).log_softmax(1);
    return loss_rule(kind)
        .plain(log_p, hidden.matmul(head.t()).log_softmax(1), at::tensor(batch.labels))
        .losses;
  }
};

TEST(BlockLoss, CountsEverySupervisedSlotForALossOfDistributionsAndOnlyLabelsForTheRest) {
  const Problem problem;
  const at::Tensor weights = at::tensor(problem.batch.weights, at::kDouble);
  const double supervised = 8, labels = 7, sequences = 2;
  for (const char* kind : {"ce", "kl", "tv"}) {
    const bool of_labels = std::string(kind) == "ce";
    at::Tensor counted = weights;
    if (of_labels) counted = counted * (at::tensor(problem.batch.labels) >= 0);
    const double sum = (counted * problem.plain(kind)).sum().item<double>();
    for (const auto& [normalize, denominator] :
         {std::pair("weights", counted.sum().item<double>()),
          {"labels", (of_labels ? labels : supervised) + 1e-5},
          {"sequences", sequences}}) {
      SCOPED_TRACE(std::string(kind) + " " + normalize);
      BlockLoss loss(parse_loss(JsonObject{{"kind", kind}, {"normalize", normalize}}, "test"),
                     problem.head);
      const LossResult result =
          loss.loss_and_gradient(problem.hidden, problem.batch, at::empty_like(problem.hidden));
      EXPECT_NEAR(result.denominator, denominator, 1e-12);
      EXPECT_NEAR(result.loss, sum / denominator, 1e-10);
      EXPECT_EQ(result.labels, 7) << "whatever the loss";
    }
  }
}

TEST(BlockLoss, TheGradientOfEveryLossIsThatOfFiniteDifferences) {
  const Problem problem;
  for (const char* text :
       {R"("ce")", R"({"ce": 0.3})", R"({"kind": "ce", "normalize": "sequences"})", R"("kl")",
        R"("rkl")", R"("jsd")", R"("tv")", R"("nla")", R"({"kind": "kl", "normalize": "labels"})",
        R"({"kl": 0.5, "ce": 0.25, "tv": 2, "normalize": "sequences"})"}) {
    SCOPED_TRACE(text);
    BlockLoss loss(loss_of(text), problem.head);
    at::Tensor gradient = at::full_like(problem.hidden, NAN), ignored = at::empty_like(gradient);
    loss.loss_and_gradient(problem.hidden, problem.batch, gradient);
    for (int64_t row = 0; row < 12; ++row) {
      for (int64_t i = 0; i < 6; ++i) {
        const auto moved = [&](double by) {
          at::Tensor hidden = problem.hidden.clone();
          hidden[row][i] += by;
          return loss.loss_and_gradient(hidden, problem.batch, ignored).loss;
        };
        EXPECT_NEAR(gradient[row][i].item<double>(), (moved(1e-5) - moved(-1e-5)) / 2e-5, 1e-8)
            << row << " " << i;
      }
    }
  }
}

// Its weights are held fixed, so that finite differences of the loss are not its gradient.
TEST(BlockLoss, TheGradientOfDpaceIsThatOfCrossEntropyWithItsWeights) {
  const Problem problem;
  for (const char* variant : {"dpace", "cumulative-confidence-only", "continuation-value-only"}) {
    const LossConfig config =
        parse_loss(JsonObject{{"kind", "dpace"}, {"variant", variant}}, "test");
    at::Tensor gradient = at::empty_like(problem.hidden), expected = gradient.clone();
    const LossResult result =
        BlockLoss(config, problem.head).loss_and_gradient(problem.hidden, problem.batch, gradient);
    std::vector<double> losses;
    std::vector<uint8_t> supervised;
    const at::Tensor ce = problem.plain("ce");
    for (int64_t row = 0; row < 12; ++row) {
      supervised.push_back(problem.batch.labels[row] >= 0);
      losses.push_back(ce[row].item<double>());
    }
    BlockBatch weighted = problem.batch;
    weighted.weights = loss_rule("dpace").weights(config, {4, losses, supervised});
    const LossResult reference =
        BlockLoss(loss_of(R"({"kind": "ce", "normalize": "labels"})"), problem.head)
            .loss_and_gradient(problem.hidden, weighted, expected);
    EXPECT_NEAR(result.loss, reference.loss, 1e-12);
    expect_close(gradient, expected);
  }
}

TEST(BlockLoss, SinglePrecisionAgreesWithDoubleAndGivesTheSameBitsAgain) {
  Problem problem;
  for (const LossKind& kind : loss_kinds()) {
    SCOPED_TRACE(kind.name);
    const LossConfig config = parse_loss(Json(kind.name), "test");
    at::Tensor exact = at::empty_like(problem.hidden);
    const LossResult expected =
        BlockLoss(config, problem.head).loss_and_gradient(problem.hidden, problem.batch, exact);
    BlockBatch batch = problem.batch;
    batch.target_hidden = batch.target_hidden.to(at::kFloat);
    const at::Tensor hidden = problem.hidden.to(at::kFloat);
    BlockLoss loss(config, problem.head.to(at::kFloat));
    at::Tensor first = at::empty_like(hidden), second = at::empty_like(hidden);
    const LossResult result = loss.loss_and_gradient(hidden, batch, first);
    EXPECT_NEAR(result.loss, expected.loss, 1e-4 * std::max(1.0, expected.loss));
    expect_close(first, exact);
    EXPECT_EQ(loss.loss_and_gradient(hidden, batch, second).loss, result.loss);
    EXPECT_TRUE(first.equal(second));
  }
}

TEST(BlockLoss, TheExpectedAcceptanceIsOfTheTargetsWholeVocabulary) {
  const Problem problem;
  const at::Tensor rows = at::tensor(problem.batch.target_rows).clamp_min(0);
  const at::Tensor q = problem.hidden.matmul(problem.head.t()).softmax(1);
  const at::Tensor target = problem.batch.target_hidden.index_select(0, rows);
  for (const bool reduced : {true, false}) {
    // Of the whole vocabulary where the drafter has all of it, else of its first 20 tokens.
    const at::Tensor whole = reduced ? problem.whole_head : problem.head;
    const at::Tensor p = target.matmul(whole.t()).softmax(1).slice(1, 0, 20);
    const at::Tensor expected = at::minimum(p, q).sum(1);
    for (const LossKind& kind : loss_kinds()) {
      const std::vector<double> accepted =
          BlockLoss(parse_loss(Json(kind.name), "test"), problem.head)
              .expected_acceptance(problem.hidden, problem.batch, whole);
      for (int64_t row = 0; row < 12; ++row) {
        if (problem.batch.target_rows[row] < 0) {
          EXPECT_TRUE(std::isnan(accepted[row])) << row;
        } else {
          EXPECT_NEAR(accepted[row], expected[row].item<double>(), 1e-10) << row;
        }
      }
    }
  }
}

TEST(BlockLoss, CrossEntropyAndMostLikelyTokensDoNotDependOnTheLoss) {
  const Problem problem;
  TopTokens first{.k = 2};
  const LossResult expected = BlockLoss(LossConfig{}, problem.head)
                                  .cross_entropy_and_top(problem.hidden, problem.batch, first);
  for (const LossKind& kind : loss_kinds()) {
    TopTokens top{.k = 2};
    BlockLoss loss(parse_loss(Json(kind.name), "test"), problem.head);
    const LossResult result = loss.cross_entropy_and_top(problem.hidden, problem.batch, top);
    EXPECT_EQ(result.loss, expected.loss) << kind.name;
    EXPECT_EQ(top.ids, first.ids) << kind.name;
    EXPECT_EQ(top.log_probabilities, first.log_probabilities) << kind.name;
    EXPECT_NEAR(
        loss.loss_and_gradient(problem.hidden, problem.batch, at::empty_like(problem.hidden))
            .cross_entropy,
        expected.loss, 1e-10)
        << kind.name << ": also while training";
  }
}

TEST(BlockLoss, ALossOfDistributionsNeedsThemInTheBatch) {
  Problem problem;
  problem.batch.target_hidden = at::Tensor();
  EXPECT_THROW(
      BlockLoss(loss_of(R"("kl")"), problem.head)
          .loss_and_gradient(problem.hidden, problem.batch, at::empty_like(problem.hidden)),
      c10::Error);
}

}  // namespace
}  // namespace draftlab
