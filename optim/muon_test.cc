#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "source_dir.h"
#include "testing/every_configuration.h"
#include "testing/golden_trajectory.h"

namespace draftlab {
namespace {

constexpr double kTolerance = 1e-10;  // float64

const Json& golden(const char* file) {
  static const Json misc = read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/misc.json"),
                    repro = read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/repro.json");
  return std::string(file) == "misc" ? misc : repro;
}

// One weight that starts at zero, without decay: after a step it is minus rate times the direction.
class OneWeight {
 public:
  OneWeight(const std::string& options, std::vector<int64_t> shape, std::vector<int64_t> split = {})
      : config_(config_of("{" + options + "}")),
        w_(at::zeros(shape, at::kDouble)),
        table_(route({{"w", shape}}, config_, {RoutingRule{"*", 0, 0, "matrix", std::move(split)}},
                     "routing")),
        optimizer_(config_, table_, {{"w", w_}}) {}

  // The direction of one step, divided by the base rate of the options; scales are still in it.
  at::Tensor direction(const at::Tensor& gradient) {
    const at::Tensor before = w_.clone();
    optimizer_.step({{"w", gradient}}, 1);
    return (before - w_) / config_.learning_rate();
  }
  at::Tensor state(const std::string& buffer) const { return optimizer_.state().at("w/" + buffer); }

 private:
  const OptimizerConfig config_;
  const at::Tensor w_;
  const std::vector<Route> table_;
  Optimizer optimizer_;
};

// The gradient itself is orthogonalized, with the floor of the golden values.
const std::string kPlain =
    R"("momentum": 0, "nesterov": false, "weight_decay": 0, "epsilon": "published")";

at::Tensor random(at::IntArrayRef shape, uint64_t seed) {
  at::manual_seed(seed);
  return at::randn(shape, at::kDouble);
}

at::Tensor polar_factor(const at::Tensor& x) {
  const auto [u, s, vh] = at::linalg_svd(x, /*full_matrices=*/false);
  return u.mm(vh);
}

TEST(Muon, BlocksOfAFusedWeightAreMatricesOfTheirOwn) {
  // moonlight#42, Megatron-LM#4731: query, key and value orthogonalized as one matrix.
  const Json& record = golden("misc").at("fused_qkv");
  const at::Tensor x = golden_gradient(8, 6, 0);
  OneWeight whole(R"("kind": "muon", )" + kPlain, {8, 6}),
      split(R"("kind": "muon", )" + kPlain, {8, 6}, {4, 2, 2});
  EXPECT_LE(largest_difference(whole.direction(x) / muon_scale("original", 8, 6),
                               golden_matrix(record.at("unsplit_kj_ns5"), 8, 6)),
            kTolerance);
  EXPECT_LE(largest_difference(split.direction(x), golden_matrix(record.at("split_kj_ns5"), 8, 6)),
            kTolerance);
}

TEST(Muon, TheRateOfABlockIsThatOfItsOwnShape) {
  // As if each block were a weight by itself.
  const std::string options = R"("kind": "muon", "scale": "match_rms", )" + kPlain;
  const at::Tensor x = random({8, 2}, 5),
                   direction = OneWeight(options, {8, 2}, {5, 3}).direction(x);
  EXPECT_LE(largest_difference(direction.narrow(0, 0, 5),
                               OneWeight(options, {5, 2}).direction(x.narrow(0, 0, 5).clone())),
            kTolerance);
  EXPECT_LE(largest_difference(direction.narrow(0, 5, 3),
                               OneWeight(options, {3, 2}).direction(x.narrow(0, 5, 3).clone())),
            kTolerance);
  const Json& record = golden("misc").at("fused_qkv");
  const double rows[] = {4, 2, 2};
  for (const char* scale : {"spectral", "match_rms", "original"}) {
    const auto& expected = record.at(std::string("split_lr_correction_") + scale).as_array();
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(muon_scale(scale, static_cast<int64_t>(rows[i]), 6) / muon_scale(scale, 8, 6),
                  json_number(expected.at(i), ""), 1e-12);
    }
  }
}

TEST(Muon, ScalesOfConvolutionsAreThoseOfTheFlattenedMatrix) {
  // timm#2791: the sides of the kernel were taken for those of the matrix.
  for (const Json& row : golden("misc").at("conv_scale").as_array()) {
    int64_t cols = 1;
    const auto& shape = row.at("shape").as_array();
    for (size_t i = 1; i < shape.size(); ++i) cols *= shape[i].as_int64();
    EXPECT_NEAR(muon_scale("original", shape[0].as_int64(), cols),
                json_number(row.at("intended_flattened_original"), ""), 1e-12);
    EXPECT_NEAR(muon_scale("match_rms", shape[0].as_int64(), cols),
                json_number(row.at("intended_flattened_match_rms"), ""), 1e-12);
  }
}

TEST(Muon, HeadsAreABatchThatDoesNotMix) {
  // maxtext#4843: experts orthogonalized across the batch.
  for (const char* kind : {"muon", "normuon", "turbo_muon"}) {
    const std::string options = std::string(R"("kind": ")") + kind + "\"";
    OneWeight heads(options, {12, 5}, {4, 4, 4});
    std::deque<OneWeight> single;
    for (int head = 0; head < 3; ++head) single.emplace_back(options, std::vector<int64_t>{4, 5});
    for (uint64_t t = 0; t < 3; ++t) {
      const at::Tensor g = random({12, 5}, t), together = heads.direction(g);
      for (int64_t head = 0; head < 3; ++head) {
        EXPECT_LE(largest_difference(together.narrow(0, 4 * head, 4),
                                     single[head].direction(g.narrow(0, 4 * head, 4))),
                  kTolerance)
            << kind;
      }
    }
  }
}

TEST(Muon, MomentumIsNeverTouchedByTheOrthogonalization) {
  // pytorch#194664: without Nesterov momentum the buffer itself was normalized in place.
  const Json& record = golden("repro").at("momentum_alias");
  const OptimizerConfig config = config_of(R"({"kind": "muon", "nesterov": false})");
  Optimizer optimizer(config, route({{"w", {2, 3}}}, config, {}, ""),
                      {{"w", at::zeros({2, 3}, at::kBFloat16)}});
  optimizer.step({{"w", golden_gradient(2, 3, 0).to(at::kBFloat16)}}, 1);
  EXPECT_LE(largest_difference(optimizer.state().at("w/momentum"),
                               golden_matrix(record.at("right_M"), 2, 3)),
            1e-8);  // float32 state
}

TEST(Muon, DecayDoesNotEnterTheDirection) {
  // ml-explore/mlx: decay was added to the gradient before the orthogonalization.
  const Json& record = golden("repro").at("coupled_l2_before_ns");
  const OptimizerConfig config = config_of(R"({"kind": "muon", "learning_rate": 0.02, "momentum": 0,
      "nesterov": false, "weight_decay": 0.1, "epsilon": "published"})");
  const at::Tensor w = golden_gradient(4, 6, 7), before = w.clone();
  Optimizer optimizer(config, route({{"w", {4, 6}}}, config, {}, ""), {{"w", w}});
  optimizer.step({{"w", golden_gradient(4, 6, 0)}}, 1);
  EXPECT_LE(largest_difference((before * (1 - 0.002) - w) / 0.02,
                               golden_matrix(record.at("right_O"), 4, 6)),
            kTolerance);
}

TEST(Muon, DecayGoesByTheRateWithoutTheScale) {
  const double right = json_number(
      golden("repro").at("decay_factor_match_rms_4x6_lr.02_wd.1").at("right_base_lr"), "");
  const OptimizerConfig config =
      config_of(R"({"kind": "muon", "scale": "match_rms", "weight_decay": 0.1})");
  const at::Tensor w = golden_gradient(4, 6, 7), before = w.clone();
  Optimizer optimizer(config, route({{"w", {4, 6}}}, config, {}, ""), {{"w", w}});
  optimizer.step({{"w", at::zeros({4, 6}, at::kDouble)}}, 1);
  EXPECT_LE(largest_difference(w, right * before), 1e-15);
}

TEST(Muon, BothFormsOfMomentumGiveTheSameDirectionAtTheKnownSizes) {
  const Json& record = golden("repro").at("lerp_vs_accumulate_first_U");
  const at::Tensor g = golden_gradient(4, 6, 0);
  // With one cubic step 3/2 x - 1/2 x^3 that sees almost nothing of x^3 the direction would be U
  // itself; the published floor does the same: a tiny matrix is divided by 1e-7 alone.
  const std::string tiny =
      R"("kind": "muon", "orthogonalizer": "classic3", "steps": 1, "epsilon": "published")";
  for (const auto& [form, key] :
       {std::pair{"lerp", "lerp_factor_on_G"}, std::pair{"accumulate", "accumulate_factor_on_G"}}) {
    OneWeight w(tiny + R"(, "momentum_form": ")" + form + "\"", {4, 6});
    const at::Tensor u = w.direction(1e-14 * g) / 1.5 * 1e-7 / 1e-14;
    EXPECT_LE(relative_distance(u, json_number(record.at(key), "") * g), 1e-5) << form;
  }
  OneWeight lerp(R"("kind": "muon")", {4, 6}),
      sum(R"("kind": "muon", "momentum_form": "accumulate")", {4, 6});
  for (int64_t t = 0; t < 3; ++t) {
    const at::Tensor gradient = golden_gradient(4, 6, t);
    EXPECT_LE(largest_difference(lerp.direction(gradient), sum.direction(gradient)), kTolerance);
  }
}

TEST(Muon, ClippingTheGradientsDoesNotChangeTheFirstDirection) {
  // deepspeed#8439: clipping was applied to the orthogonalized update.
  for (const char* kind : {"muon", "turbo_muon", "normuon"}) {
    const std::string options = std::string(R"("kind": ")") + kind + "\"";
    const at::Tensor g = random({8, 5}, 2);
    OneWeight one(options, {8, 5}), two(options, {8, 5});
    EXPECT_LE(largest_difference(one.direction(g), two.direction(1e-9 * g)), kTolerance) << kind;
  }
}

TEST(Muon, TheCautiousMaskIsAppliedBeforeTheOrthogonalization) {
  const std::string exact = R"("kind": "muon", "orthogonalizer": "exact", "scale": "match_rms")";
  for (const bool nesterov : {true, false}) {
    OneWeight cautious(
        exact + R"(, "cautious": true, "nesterov": )" + (nesterov ? "true" : "false"), {4, 6});
    at::Tensor m = at::zeros({4, 6}, at::kDouble);
    for (uint64_t t = 0; t < 4; ++t) {
      const at::Tensor g = random({4, 6}, t);
      m = 0.95 * m + 0.05 * g;
      const at::Tensor u = nesterov ? 0.05 * g + 0.95 * m : m, kept = u * (u * g > 0);
      const at::Tensor o = cautious.direction(g) / muon_scale("match_rms", 4, 6);
      EXPECT_LE(largest_difference(o, polar_factor(kept)), kTolerance);
      EXPECT_LE((at::linalg_svdvals(o) - 1).abs().max().item<double>(), kTolerance);
      EXPECT_LE(largest_difference(cautious.state("momentum"), m), kTolerance);  // not masked
    }
  }
}

TEST(Muon, TheCautiousMaskKeepsTheSizeThatItsSourceGivesIt) {
  // u mask / max(mean(mask), 1e-3): seen only through a published floor.
  OneWeight w(R"("kind": "muon", "cautious": true, "orthogonalizer": "classic3", "steps": 1,
                 "epsilon": "published")",
              {4, 6});
  const at::Tensor a = random({4, 6}, 1), b = random({4, 6}, 2);
  w.direction(1e-14 * a);
  const at::Tensor m = 0.05 * 0.95 * a + 0.05 * b, u = 0.05 * b + 0.95 * m,
                   mask = (u * b > 0).to(at::kDouble);
  const at::Tensor expected = u * mask / mask.mean();
  EXPECT_LE(relative_distance(w.direction(1e-14 * b) / 1.5 * 1e-7 / 1e-14, expected), 1e-5);
}

TEST(Muon, CautiousDecayLeavesEntriesThatTheUpdateMakesLarger) {
  const OptimizerConfig config = config_of(
      R"({"kind": "muon", "learning_rate": 0.5, "weight_decay": 0.4, "decay": "cautious"})");
  const at::Tensor w = random({4, 6}, 1), before = w.clone(), g = random({4, 6}, 2);
  OneWeight plain(R"("kind": "muon", "learning_rate": 0.5)", {4, 6});
  Optimizer optimizer(config, route({{"w", {4, 6}}}, config, {}, ""), {{"w", w}});
  optimizer.step({{"w", g}}, 1);
  const at::Tensor o = plain.direction(g);
  EXPECT_LE(largest_difference(w, before - 0.2 * before * (o * before >= 0) - 0.5 * o), kTolerance);
}

TEST(MuonAll, TakesAVectorForADiagonalMatrix) {
  const Json& record = golden("misc").at("muonall_1d");
  const at::Tensor g = golden_matrix(record.at("g"), 1, 8).view(-1);
  for (const auto& [steps, key] : {std::pair{5, "elementwise_5"}, std::pair{6, "elementwise_6"}}) {
    OneWeight w(R"("kind": "muon_all", "steps": )" + std::to_string(steps) + ", " + kPlain, {8});
    EXPECT_LE(largest_difference(w.direction(g), golden_matrix(record.at(key), 1, 8).view(-1)),
              kTolerance);
  }
  OneWeight six(R"("kind": "muon_all", )" + kPlain, {8});  // by default
  EXPECT_LE(largest_difference(six.direction(g),
                               golden_matrix(record.at("elementwise_6"), 1, 8).view(-1)),
            kTolerance);
}

TEST(MuonAll, NormalizesRowsAndColumns) {
  // speculators#821: a weight of one row crashed.
  for (const auto& shape : {std::vector<int64_t>{1, 5}, {5, 1}}) {
    const at::Tensor g = random(shape, 3);
    OneWeight w(R"("kind": "muon_all", "orthogonalizer": "exact")", shape);
    EXPECT_LE(largest_difference(w.direction(g) / muon_scale("original", shape[0], shape[1]),
                                 g / g.norm()),
              kTolerance);
  }
}

TEST(NorMuon, KeepsTheNormAndEvensOutTheRowsOfTheFirstStep) {
  const Json& record = golden("repro").at("normuon_first_step_row_norms");
  for (const double beta2 : {0.5, 0.95}) {
    OneWeight plain(R"("kind": "muon", )" + kPlain, {4, 6}),
        even(R"("kind": "normuon", )" + kPlain + R"(, "beta2": )" + std::to_string(beta2), {4, 6});
    for (int64_t t = 0; t < 4; ++t) {
      const at::Tensor g = golden_gradient(4, 6, t);
      const at::Tensor o = even.direction(g), before = plain.direction(g);
      EXPECT_NEAR(o.norm().item<double>(), before.norm().item<double>(), 1e-8);
      if (t > 0) continue;
      EXPECT_LE(largest_difference(before.norm(2, 1).view({1, 4}),
                                   golden_matrix(record.at("before"), 1, 4)),
                kTolerance);
      EXPECT_LE(largest_difference(o.norm(2, 1).view({1, 4}),
                                   golden_matrix(record.at("after_any_beta2"), 1, 4)),
                1e-8);  // the floor of 1e-10 beside a root of about 1
    }
  }
}

TEST(NorMuon, InThePapersConventionEveryUpdateHasARootMeanSquareOfAFifthOfTheRate) {
  // zichongli5/NorMuon#9: the code's scale does not have this property.
  for (const auto& shape : {std::vector<int64_t>{4, 9}, {9, 4}, {5, 5}}) {
    OneWeight w(R"("kind": "normuon", "convention": "paper")", shape);
    for (uint64_t t = 0; t < 3; ++t) {
      const at::Tensor o = w.direction(random(shape, t) * 1e-3);
      EXPECT_NEAR(o.norm().item<double>() / std::sqrt(static_cast<double>(o.numel())), 0.2, 1e-9);
    }
  }
}

TEST(NorMuon, InModdedNanogptsConventionTheLongerSideHasTheStatistics) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{4, 9}, {9, 4}}) {
    OneWeight w(R"("kind": "normuon", "convention": "modded_nanogpt")", {rows, cols});
    const at::Tensor o = w.direction(random({rows, cols}, 1));
    EXPECT_EQ(w.state("mean_square").numel(), 9);
    const at::Tensor norms = at::linalg_vector_norm(o, 2, rows < cols ? 0 : 1);
    EXPECT_LE((norms - norms.mean()).abs().max().item<double>(), 1e-8);
  }
}

TEST(Muon, AShadowIsAdamsSecondMomentAndChangesNothingElse) {
  OneWeight plain(R"("kind": "muon")", {4, 6}),
      shadowed(R"("kind": "muon", "shadow_beta2": 0.9)", {4, 6});
  at::Tensor v = at::zeros({4, 6}, at::kDouble);
  for (uint64_t t = 0; t < 3; ++t) {
    const at::Tensor g = random({4, 6}, t);
    v = 0.9 * v + 0.1 * g * g;
    EXPECT_TRUE(at::equal(plain.direction(g), shadowed.direction(g)));
  }
  EXPECT_LE(largest_difference(shadowed.state("exp_avg_sq"), v), 1e-15);
  EXPECT_EQ(shadowed.state("exp_avg_sq_steps").item<int64_t>(), 3);
}

}  // namespace
}  // namespace draftlab
