#include "model/losses/loss_rule.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "base/error.h"
#include "testing/closeness.h"

namespace draftlab {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// The losses as their formulas say, of p [R, V] and logits of q [R, V], for autograd. What
// lk_hybrid holds fixed is detached.
using Formula =
    std::function<at::Tensor(const at::Tensor& p, const at::Tensor& q, const at::Tensor& labels)>;

at::Tensor divergence(const at::Tensor& a, const at::Tensor& b) {
  return (a * (a.log() - b.log())).sum(1);
}
at::Tensor accepted(const at::Tensor& p, const at::Tensor& q) { return at::minimum(p, q).sum(1); }
at::Tensor of_label(const at::Tensor&, const at::Tensor& q, const at::Tensor& labels) {
  return -q.gather(1, labels.unsqueeze(1)).squeeze(1).log();
}

const std::map<std::string, Formula>& formulas() {
  using T = const at::Tensor&;
  static const std::map<std::string, Formula> all = {
      {"ce", of_label},
      {"dpace", of_label},
      {"kl", [](T p, T q, T) { return divergence(p, q); }},
      {"rkl", [](T p, T q, T) { return divergence(q, p); }},
      {"jsd",
       [](T p, T q, T) {
         const at::Tensor m = (p + q) / 2;
         return (divergence(p, m) + divergence(q, m)) / 2;
       }},
      {"tv", [](T p, T q, T) { return 1 - accepted(p, q); }},
      {"nla", [](T p, T q, T) { return -accepted(p, q).clamp_min(1e-5).log(); }},
      {"lk_hybrid", [](T p, T q, T) {
         const at::Tensor a = accepted(p, q), c = (-3 * a).exp().detach();
         return c * divergence(p, q) + (1 - c) * (1 - a);
       }}};
  return all;
}

struct Logits {
  at::Tensor p, q, labels;  // logits [R, V], labels [R]

  explicit Logits(double spread, int64_t rows = 6, int64_t vocabulary = 37) {
    at::manual_seed(3);
    p = at::randn({rows, vocabulary}, at::kDouble) * spread;
    q = at::randn({rows, vocabulary}, at::kDouble) * spread;
    labels = at::arange(rows) * 5 + 1;
  }
};

template <typename T>
double run_row(const LossRule& rule, const at::Tensor& log_p, const at::Tensor& log_q,
               int64_t label, T weight, at::Tensor& gradient) {
  const at::Tensor p = log_p.exp(), q = log_q.exp();
  const DistributionRow<T> row{
      log_p.numel(),         p.const_data_ptr<T>(),     log_p.const_data_ptr<T>(),
      q.const_data_ptr<T>(), log_q.const_data_ptr<T>(), label};
  if constexpr (std::is_same_v<T, float>) {
    return rule.of_float(row, weight, gradient.data_ptr<T>());
  } else {
    return rule.of_double(row, weight, gradient.data_ptr<T>());
  }
}

TEST(LossRule, EveryDescribedLossHasOneAndUnknownNamesThrow) {
  for (const LossKind& kind : loss_kinds()) {
    EXPECT_EQ(loss_rule(kind.name).kind, kind.name);
    EXPECT_EQ(loss_rule(kind.name).weights != nullptr, kind.weighs_slots) << kind.name;
    EXPECT_TRUE(formulas().contains(kind.name)) << kind.name << " is not tested";
  }
  EXPECT_THAT([] { loss_rule("kll"); }, ThrowsMessage<Error>(HasSubstr("'kll'")));
  EXPECT_THAT([] { loss_kind("kll", "here"); }, ThrowsMessage<Error>(HasSubstr("'kll'")));
}

TEST(LossRule, ThePlainFormIsTheFormulaAndItsGradientThatOfAutograd) {
  for (const double spread : {0.3, 2.0}) {
    for (const auto& [kind, formula] : formulas()) {
      SCOPED_TRACE(kind);
      const Logits logits(spread);
      const at::Tensor q = logits.q.clone().requires_grad_();
      const at::Tensor expected = formula(logits.p.softmax(1), q.softmax(1), logits.labels);
      expected.sum().backward();
      const PlainLosses plain =
          loss_rule(kind).plain(logits.p.log_softmax(1), logits.q.log_softmax(1), logits.labels);
      expect_close(plain.losses, expected.detach());
      expect_close(plain.d_logits, q.grad());
    }
  }
}

TEST(LossRule, ARowGivesTheSameAsThePlainFormTimesItsWeightAndAddsToTheGradient) {
  for (const double spread : {0.3, 2.0, 12.0}) {
    for (const auto& [kind, _] : formulas()) {
      SCOPED_TRACE(kind);
      const Logits logits(spread);
      const LossRule& rule = loss_rule(kind);
      const at::Tensor log_p = logits.p.log_softmax(1), log_q = logits.q.log_softmax(1);
      const PlainLosses plain = rule.plain(log_p, log_q, logits.labels);
      for (int64_t r = 0; r < log_q.size(0); ++r) {
        const int64_t label = logits.labels[r].item<int64_t>();
        const double expected = 0.25 * plain.losses[r].item<double>();
        at::Tensor gradient = at::ones({log_q.size(1)}, at::kDouble);
        EXPECT_NEAR(run_row<double>(rule, log_p[r], log_q[r], label, 0.25, gradient), expected,
                    1e-10 * std::max(1.0, expected));
        expect_close(gradient, 1 + 0.25 * plain.d_logits[r]);
        at::Tensor rounded = at::ones({log_q.size(1)});
        EXPECT_NEAR(run_row<float>(rule, log_p[r].to(at::kFloat), log_q[r].to(at::kFloat), label,
                                   0.25f, rounded),
                    expected, 1e-4 * std::max(1.0, expected));
        expect_close(rounded, 1 + 0.25 * plain.d_logits[r]);
      }
    }
  }
}

TEST(LossRule, TheGradientIsThatOfFiniteDifferences) {
  const Logits logits(1.5, 1, 9);
  const at::Tensor log_p = logits.p.log_softmax(1)[0];
  for (const auto& [kind, _] : formulas()) {
    if (kind == "lk_hybrid") continue;  // its share of kl is held fixed
    SCOPED_TRACE(kind);
    at::Tensor gradient = at::zeros({9}, at::kDouble), ignored = at::zeros({9}, at::kDouble);
    run_row<double>(loss_rule(kind), log_p, logits.q.log_softmax(1)[0], 4, 1, gradient);
    for (int64_t v = 0; v < 9; ++v) {
      const auto moved = [&](double by) {
        at::Tensor z = logits.q[0].clone();
        z[v] += by;
        return run_row<double>(loss_rule(kind), log_p, z.log_softmax(0), 4, 1, ignored);
      };
      EXPECT_NEAR(gradient[v].item<double>(), (moved(1e-5) - moved(-1e-5)) / 2e-5, 1e-8);
    }
  }
}

TEST(LossRule, AWorkedExample) {
  // p = (.7, .2, .1), logits of q (1, .5, -1); computed by hand.
  const at::Tensor log_p = at::tensor({0.7, 0.2, 0.1}, at::kDouble).log();
  const at::Tensor log_q = at::tensor({1.0, 0.5, -1.0}, at::kDouble).log_softmax(0);
  const std::map<std::string, double> expected = {
      {"ce", 0.5550}, {"kl", 0.0531},  {"rkl", 0.0596},       {"jsd", 0.0140},
      {"tv", 0.1482}, {"nla", 0.1604}, {"lk_hybrid", 0.1408}, {"dpace", 0.5550}};
  for (const auto& [kind, value] : expected) {
    at::Tensor gradient = at::zeros({3}, at::kDouble);
    EXPECT_NEAR(run_row<double>(loss_rule(kind), log_p, log_q, 0, 1, gradient), value, 5e-5)
        << kind;
  }
}

TEST(LossRule, EqualDistributionsHaveNoDivergenceAndNoSlope) {
  const Logits logits(2.0);
  const at::Tensor log_q = logits.q.log_softmax(1);
  for (const LossKind& kind : loss_kinds()) {
    if (!kind.needs_target) continue;
    const PlainLosses plain = loss_rule(kind.name).plain(log_q, log_q, logits.labels);
    EXPECT_LT(plain.losses.abs().max().item<double>(), 1e-12) << kind.name;
    EXPECT_LT(plain.d_logits.abs().max().item<double>(), 1e-12) << kind.name;
  }
}

TEST(LossRule, DisjointDistributionsAreFiniteAndNlaLetsThemBe) {
  const at::Tensor log_p = at::tensor({200.f, 0.f, 0.f}).log_softmax(0);
  const at::Tensor log_q = at::tensor({0.f, 200.f, 0.f}).log_softmax(0);
  const std::map<std::string, double> expected = {
      {"kl", 200},       {"rkl", 200}, {"jsd", std::log(2.0)}, {"tv", 1}, {"nla", -std::log(1e-5)},
      {"lk_hybrid", 200}};
  for (const auto& [kind, value] : expected) {
    at::Tensor gradient = at::zeros({3});
    EXPECT_NEAR(run_row<float>(loss_rule(kind), log_p, log_q, 0, 1, gradient), value, 1e-3) << kind;
    EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << kind;
    if (kind == "nla") {
      EXPECT_EQ(gradient.abs().max().item<float>(), 0);
    }
  }
}

TEST(LossRule, ANotANumberOnEitherSideStaysVisible) {
  const at::Tensor fine = at::zeros({20}).log_softmax(0), broken = at::full({20}, NAN);
  at::Tensor gradient = at::zeros({20});
  for (const LossKind& kind : loss_kinds()) {
    const LossRule& rule = loss_rule(kind.name);
    EXPECT_TRUE(std::isnan(run_row<float>(rule, fine, broken, 0, 1, gradient))) << kind.name;
    if (!kind.needs_target) continue;
    EXPECT_TRUE(std::isnan(run_row<float>(rule, broken, fine, 0, 1, gradient))) << kind.name;
  }
}

TEST(LossRule, DpaceWeighsAsInTheWorkedExample) {
  // p = .9, .5, .25, .1 in one block, all supervised; and in a second one, whose slot 2 is not.
  std::vector<double> losses;
  for (const double q : {1.0, 0.9, 0.5, 0.25, 0.1}) losses.push_back(-std::log(q));
  losses.insert(losses.end(), losses.begin(), losses.begin() + 5);
  const std::vector<uint8_t> supervised = {0, 1, 1, 1, 1, 0, 1, 0, 1, 1};
  const auto weights = [&](const char* variant) {
    const LossConfig config =
        parse_loss(JsonObject{{"kind", "dpace"}, {"variant", variant}}, "test");
    return loss_rule("dpace").weights(config, {5, losses, supervised});
  };
  const auto expect = [&](const char* variant, const std::vector<double>& expected) {
    const std::vector<double> actual = weights(variant);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 6e-5) << variant << " " << i;
  };
  const double gap3 = 0.95 * 0.625, gap4 = gap3 * 0.55;
  expect("dpace", {0, 2.3527, 1.4027, 0.6902, 0.2449, 0, 0.95 + gap3 + gap4, 0, gap3 + gap4, gap4});
  expect("cumulative-confidence-only", {0, 0.95, 0.7125, 0.4453, 0.2449, 0, 0.95, 0, gap3, gap4});
  expect("continuation-value-only",
         {0, 2.4766, 1.9688, 1.55, 1, 0, (0.95 + gap3 + gap4) / 0.95, 0, 1.55, 1});
}

}  // namespace
}  // namespace draftlab
