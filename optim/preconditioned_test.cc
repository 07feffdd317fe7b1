#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "optim/rules/shampoo.h"
#include "optim/rules/soap.h"
#include "testing/every_configuration.h"

namespace draftlab {
namespace {

at::Tensor random(at::IntArrayRef shape, uint64_t seed) {
  at::manual_seed(seed);
  return at::randn(shape, at::kDouble);
}

at::Tensor orthogonal(int64_t n, uint64_t seed) {
  return std::get<0>(at::linalg_qr(random({n, n}, seed)));
}

// W after `steps` gradients P G_t Q from a start of zero.
at::Tensor trained(const std::string& options, const at::Tensor& p, const at::Tensor& q,
                   uint64_t steps) {
  const OptimizerConfig config = config_of("{" + options + "}");
  const at::Tensor w = at::zeros({p.size(0), q.size(0)}, at::kDouble);
  Optimizer optimizer(config, route({{"w", w.sizes().vec()}}, config, {}, ""), {{"w", w}});
  for (uint64_t t = 0; t < steps; ++t)
    optimizer.step({{"w", p.mm(random(w.sizes(), 10 + t)).mm(q)}}, 1);
  return w;
}

TEST(Soap, DoesNotDependOnTheBasisOfTheGradients) {
  // Adam does; its eigenbasis turns with the gradients.
  const at::Tensor p = orthogonal(5, 1), q = orthogonal(5, 2), i = at::eye(5, at::kDouble);
  for (const uint64_t steps : {2, 4}) {
    const at::Tensor plain = trained(R"("kind": "soap")", i, i, steps);
    EXPECT_LE(relative_distance(trained(R"("kind": "soap")", p, q, steps), p.mm(plain).mm(q)),
              1e-9);
    EXPECT_GT(relative_distance(trained(R"("kind": "adamw")", p, q, steps),
                                p.mm(trained(R"("kind": "adamw")", i, i, steps)).mm(q)),
              0.05);
  }
}

TEST(Soap, WithoutRotationsIsAdamAfterAFirstLook) {
  const OptimizerConfig soap = config_of(R"({"kind": "soap", "largest_side": 1})"),
                        adam = config_of(R"({"kind": "adamw", "learning_rate": 3e-3, "beta1": 0.95,
                            "beta2": 0.95, "weight_decay": 0})");
  const at::Tensor w = random({4, 6}, 1), expected = w.clone();
  Optimizer one(soap, route({{"w", {4, 6}}}, soap, {}, ""), {{"w", w}}),
      two(adam, route({{"w", {4, 6}}}, adam, {}, ""), {{"w", expected}});
  EXPECT_FALSE(one.state().contains("w/left"));
  for (uint64_t t = 0; t < 4; ++t) {
    const at::Tensor g = random({4, 6}, 10 + t), before = w.clone();
    one.step({{"w", g}}, 1);
    if (t == 0) {
      EXPECT_TRUE(at::equal(w, before));
      continue;
    }
    two.step({{"w", g}}, 1);
    expected.mul_(1 - 3e-3 * 0.01);  // after the update
    EXPECT_LE(relative_distance(w, expected), 1e-14);
  }
}

TEST(Soap, KeepsItsMeanGradientInTheBasisOfTheWeights) {
  const OptimizerConfig config = config_of(R"({"kind": "soap"})");
  Optimizer optimizer(config, route({{"w", {4, 6}}}, config, {}, ""),
                      {{"w", at::zeros({4, 6}, at::kDouble)}});
  at::Tensor m = at::zeros({4, 6}, at::kDouble);
  for (uint64_t t = 0; t < 4; ++t) {
    const at::Tensor g = random({4, 6}, t);
    optimizer.step({{"w", g}}, 1);
    if (t > 0) m = 0.95 * m + 0.05 * g;
  }
  EXPECT_LE(relative_distance(optimizer.state().at("w/exp_avg"), m), 1e-14);
}

TEST(Soap, TheBasisDiagonalizesThePreconditionerAndFollowsIt) {
  Soap state{{}, at::arange(24, at::kDouble).view({4, 6}), {}, {}, {}, {}};
  const at::Tensor a = random({4, 4}, 1), q = orthogonal(4, 2);
  state.left = a.mm(a.t());
  state.left_basis = at::empty_like(state.left);
  const auto off_diagonal = [&] {
    const at::Tensor d = state.left_basis.t().mm(state.left).mm(state.left_basis);
    return ((d - d.diagonal().diag()).norm() / d.norm()).item<double>();
  };
  first_basis(state);
  EXPECT_LE(off_diagonal(), 1e-14);
  // Largest first.
  const at::Tensor values = (state.left_basis * state.left.mm(state.left_basis)).sum(0);
  EXPECT_TRUE((values.narrow(0, 0, 3) >= values.narrow(0, 1, 3)).all().item<bool>());
  state.left = q.mm((at::tensor({8.0, 4.0, 2.0, 1.0}, at::kDouble)).diag()).mm(q.t());
  EXPECT_GT(off_diagonal(), 0.05);
  for (int t = 0; t < 30; ++t) next_basis(state);
  EXPECT_LE(off_diagonal(), 1e-6);
}

TEST(Soap, TheSecondMomentMovesWithItsEigenvector) {
  Soap state{{}, at::arange(6, at::kDouble).view({2, 3}), {}, {}, {}, {}};
  state.left = at::tensor({1.0, 5.0}, at::kDouble).diag();  // the second one has become the larger
  state.left_basis = at::eye(2, at::kDouble);
  next_basis(state);
  EXPECT_TRUE(at::equal(state.v, at::arange(6, at::kDouble).view({2, 3}).flip(0)));
  EXPECT_NEAR(state.left_basis[1][0].abs().item<double>(), 1, 1e-15);
}

TEST(Shampoo, WithoutAveragesIsThePolarFactorAtAdamsSize) {
  for (const auto& shape : {std::vector<int64_t>{4, 6}, {6, 4}, {5, 5}}) {
    const OptimizerConfig config = config_of(R"({"kind": "shampoo", "learning_rate": 1, "beta1": 0,
        "beta2": 0, "precondition_every": 1})");
    const at::Tensor w = at::zeros(shape, at::kDouble);
    Optimizer optimizer(config, route({{"w", shape}}, config, {}, ""), {{"w", w}});
    for (uint64_t t = 0; t < 3; ++t) {
      w.zero_();
      const at::Tensor g = random(shape, t);
      optimizer.step({{"w", g}}, 1);
      const auto [u, s, vh] = at::linalg_svd(g, /*full_matrices=*/false);
      // Adam without averages takes the sign of the gradient, whose norm is sqrt(m n).
      const double size =
          std::sqrt(static_cast<double>(w.numel()) / static_cast<double>(s.numel()));
      EXPECT_LE(relative_distance(w, -size * u.mm(vh)), 1e-8);
    }
  }
}

TEST(Shampoo, TheScaleOfTheGradientsDoesNotMatter) {
  const at::Tensor i = at::eye(5, at::kDouble);
  const at::Tensor w = trained(R"("kind": "shampoo")", i, i, 3);
  for (const double c : {1e-6, 1e6})
    EXPECT_LE(relative_distance(trained(R"("kind": "shampoo")", c * i, i, 3), w), 1e-4) << c;
}

TEST(Shampoo, TheFourthPowerOfTheRootIsTheInverse) {
  const at::Tensor a = random({5, 5}, 1), p = a.mm(a.t());
  at::Tensor root = inverse_fourth_root(p, 1e-16);
  root = root.mm(root);
  EXPECT_LE(relative_distance(root.mm(root).mm(p), at::eye(5, at::kDouble)), 1e-9);
  EXPECT_TRUE(at::equal(inverse_fourth_root(at::zeros({3, 3}), 1e-12), at::eye(3)));
}

TEST(Shampoo, RootsStayBetweenTheirSteps) {
  const OptimizerConfig config = config_of(R"({"kind": "shampoo", "precondition_every": 3})");
  Optimizer optimizer(config, route({{"w", {4, 6}}}, config, {}, ""),
                      {{"w", at::zeros({4, 6}, at::kDouble)}});
  at::Tensor before;
  for (uint64_t t = 0; t < 7; ++t) {
    optimizer.step({{"w", random({4, 6}, t)}}, 1);
    const at::Tensor root = optimizer.state().at("w/left_root").clone();
    if (t > 0) {
      EXPECT_EQ(at::equal(root, before), t % 3 != 0) << t;
    }
    before = root;
  }
}

TEST(Preconditioned, BlocksOfASplitAreMatricesOfTheirOwn) {
  for (const char* kind : {"soap", "shampoo"}) {
    const OptimizerConfig config = config_of(std::string(R"({"kind": ")") + kind + "\"}");
    const at::Tensor w = at::zeros({6, 4}, at::kDouble), top = at::zeros({4, 4}, at::kDouble);
    Optimizer split(config,
                    route({{"w", {6, 4}}}, config, {RoutingRule{"*", 0, 0, "matrix", {4, 2}}}, ""),
                    {{"w", w}}),
        single(config, route({{"w", {4, 4}}}, config, {}, ""), {{"w", top}});
    for (uint64_t t = 0; t < 3; ++t) {
      const at::Tensor g = random({6, 4}, t);
      split.step({{"w", g}}, 1);
      single.step({{"w", g.narrow(0, 0, 4)}}, 1);
    }
    EXPECT_LE(relative_distance(w.narrow(0, 0, 4), top), 1e-12) << kind;
  }
}

}  // namespace
}  // namespace draftlab
