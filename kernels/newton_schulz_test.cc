#include "kernels/newton_schulz.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/json.h"
#include "kernels/orthogonalize.h"

namespace draftlab {
namespace {

constexpr double kFloat64Tolerance = 1e-10,
                 kFloat32Tolerance = 1e-4;  // relative to the Frobenius norm

using Function = std::function<at::Tensor(const at::Tensor&)>;

Function fast(Method method, Normalization normalization) {
  return [=](const at::Tensor& x) {
    static Workspace workspace;  // shared by all shapes and dtypes on purpose
    const int64_t steps = method == Method::kTurbo ? 4 : 5;
    return orthogonalize(x, {method, steps, normalization}, workspace).clone();
  };
}

Function plain(Method method, Normalization normalization) {
  return [=](const at::Tensor& x) {
    return method == Method::kTurbo ? turbo_newton_schulz(x, 4, normalization)
                                    : newton_schulz(x, 5, normalization);
  };
}

double relative(const at::Tensor& a, const at::Tensor& b) {
  const double norm = b.norm().item<double>();
  return (a.to(at::kDouble) - b).norm().item<double>() / (norm > 0 ? norm : 1);
}

at::Tensor gaussian(int64_t rows, int64_t cols, uint64_t seed = 1) {
  at::manual_seed(seed);
  return at::randn({rows, cols}, at::kDouble);
}

// A matrix with the given singular values.
at::Tensor with_spectrum(const at::Tensor& s, int64_t rows, int64_t cols) {
  const auto [u, t, vh] = at::linalg_svd(gaussian(rows, cols, 7), false);
  return (u * s).mm(vh);
}

// Every orthogonalizer, plain and fast, in its default form.
struct Orthogonalizer {
  const char* name;
  Function function;
  double distance;  // largest relative distance to the polar factor of a Gaussian matrix, sides 1:4
};

const std::vector<Orthogonalizer>& all() {
  static const std::vector<Orthogonalizer> all = {
      {"newton_schulz", plain(Method::kNewtonSchulz, Normalization::kScaleFree), 0.25},
      {"turbo", plain(Method::kTurbo, Normalization::kScaleFree), 0.1},
      {"fast newton_schulz", fast(Method::kNewtonSchulz, Normalization::kScaleFree), 0.25},
      {"fast turbo", fast(Method::kTurbo, Normalization::kScaleFree), 0.1},
  };
  return all;
}

TEST(Orthogonalization, EqualsTheGoldenValuesOfItsSource) {
  const Json golden = read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/ortho.json");
  const std::vector<std::tuple<const char*, Method, Normalization>> methods = {
      {"kj_ns5", Method::kNewtonSchulz, Normalization::kPlusEpsilon},
      {"torch_ns5", Method::kNewtonSchulz, Normalization::kAtLeastEpsilon},
      {"turbo_aol4", Method::kTurbo, Normalization::kPlusEpsilon},
  };
  ASSERT_EQ(golden.at("cases").as_array().size(), 17);
  for (const Json& c : golden.at("cases").as_array()) {
    const int64_t rows = c.at("rows").as_int64(), cols = c.at("cols").as_int64();
    const auto matrix = [&](const Json& values) {
      at::Tensor x = at::empty({rows, cols}, at::kDouble);
      double* to = x.mutable_data_ptr<double>();
      for (const Json& value : values.as_array()) *to++ = json_number(value, "ortho.json");
      return x;
    };
    const at::Tensor x = matrix(c.at("input_row_major"));
    const Json& outputs = c.at("outputs");
    for (const auto& [name, method, normalization] : methods) {
      const at::Tensor expected = matrix(outputs.at(name));
      const std::string what = std::string(name) + " of " + c.at("name").as_string().c_str();
      EXPECT_LE(relative(plain(method, normalization)(x), expected), kFloat64Tolerance) << what;
      EXPECT_LE(relative(fast(method, normalization)(x), expected), kFloat64Tolerance)
          << "fast " << what;
    }
    EXPECT_LE(relative(polar_factor(x), matrix(outputs.at("polar_exact"))), kFloat64Tolerance)
        << c.at("name");
  }
}

TEST(Orthogonalization, ScaleFreeFormAgreesWithTheEpsilonsAtOrdinaryScale) {
  const at::Tensor x = gaussian(30, 50);
  for (const Method method : {Method::kNewtonSchulz, Method::kTurbo}) {
    EXPECT_LE(relative(plain(method, Normalization::kScaleFree)(x),
                       plain(method, Normalization::kPlusEpsilon)(x)),
              1e-6);
  }
}

TEST(Orthogonalization, ScaleOfTheInputDoesNotMatterInFloat32) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{40, 70}, {70, 40}, {50, 50}}) {
    const at::Tensor x = gaussian(rows, cols).to(at::kFloat);
    for (const auto& [name, function, distance] : all()) {
      const at::Tensor once = function(x);
      EXPECT_TRUE(at::equal(function(x * 0x1p-66), once)) << name;  // about 1e-20, and exact
      EXPECT_TRUE(at::equal(function(x * 0x1p66), once)) << name;
      EXPECT_LE(relative(function(x * 1e-20), once.to(at::kDouble)), kFloat32Tolerance) << name;
      EXPECT_LE(relative(function(x * 1e20), once.to(at::kDouble)), kFloat32Tolerance) << name;
      EXPECT_TRUE(at::equal(function(-x), -once)) << name;
    }
  }
}

TEST(Orthogonalization, Float32AgreesWithFloat64) {
  // Rows of very different sizes, few large directions, many small ones.
  const at::Tensor spectrum = at::logspace(0, -4, 60, 10, at::kDouble);
  for (const at::Tensor& x :
       {gaussian(96, 96), gaussian(130, 400), gaussian(400, 130), with_spectrum(spectrum, 60, 200),
        gaussian(80, 90) * gaussian(80, 1).exp()}) {
    for (const auto& [name, function, distance] : all()) {
      EXPECT_LE(relative(function(x.to(at::kFloat)), function(x)), kFloat32Tolerance)
          << name << x.sizes();
    }
  }
}

TEST(Orthogonalization, StaysWithinTheKnownDistanceOfThePolarFactor) {
  const at::Tensor x = gaussian(64, 256);
  for (const auto& [name, function, distance] : all()) {
    EXPECT_LE(relative(function(x), polar_factor(x)), distance) << name;
  }
  EXPECT_LE(relative(polar_factor(x).mm(polar_factor(x).t()), at::eye(64, at::kDouble)), 1e-12);
}

TEST(Orthogonalization, EverySingularDirectionKeepsItsSign) {
  for (const at::Tensor& s :
       {at::ones({24}, at::kDouble), at::logspace(0, -3, 24, 10, at::kDouble),
        at::cat({at::ones({1}, at::kDouble), at::full({23}, 1e-3, at::kDouble)})}) {
    const at::Tensor x = with_spectrum(s, 24, 60);
    const auto [u, t, vh] = at::linalg_svd(x, false);
    for (const auto& [name, function, distance] : all()) {
      const at::Tensor o = function(x);
      EXPECT_GT((u.t().mm(o).mm(vh.t())).diagonal().min().item<double>(), 0) << name;
      // Keller Jordan's constants leave .68 of a well-conditioned direction, and less of tiny ones.
      EXPECT_GE((o * x).sum().item<double>() / t.sum().item<double>(), 0.6) << name;
    }
  }
}

TEST(Orthogonalization, FollowsPermutationsRotationsAndTranspositions) {
  const at::Tensor x = gaussian(20, 50);
  const at::Tensor rows = at::randperm(20), cols = at::randperm(50);
  const at::Tensor p = polar_factor(gaussian(20, 20, 2)), q = polar_factor(gaussian(50, 50, 3));
  for (const auto& [name, function, distance] : all()) {
    const at::Tensor o = function(x);
    EXPECT_LE(relative(function(x.index_select(0, rows).index_select(1, cols)),
                       o.index_select(0, rows).index_select(1, cols)),
              kFloat64Tolerance)
        << name;
    EXPECT_LE(relative(function(x.mm(q)), o.mm(q)), kFloat64Tolerance) << name;
    EXPECT_LE(relative(function(x.t()), o.t()), kFloat64Tolerance) << name;
    const bool turbo = std::string(name).find("turbo") != std::string::npos;
    // Row scaling ties Turbo to the basis of the shorter side.
    if (!turbo) {
      EXPECT_LE(relative(function(p.mm(x)), p.mm(o)), kFloat64Tolerance) << name;
    }
  }
}

TEST(Orthogonalization, ZerosStayZero) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const auto& [name, function, distance] : all()) {
      EXPECT_TRUE(at::equal(function(at::zeros({5, 9}, dtype)), at::zeros({5, 9}, dtype))) << name;
      at::Tensor x = gaussian(30, 80).to(dtype);
      x[3].zero_();
      x.select(1, 40).zero_();
      const at::Tensor o = function(x);
      EXPECT_EQ(o[3].abs().max().item<double>(), 0) << name;
      EXPECT_EQ(o.select(1, 40).abs().max().item<double>(), 0) << name;
      EXPECT_FALSE(o.isnan().any().item<bool>()) << name;
    }
  }
}

TEST(Orthogonalization, NotANumberAndInfinityAreSeen) {
  for (const double bad : {double{NAN}, double{INFINITY}}) {
    for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{20, 20}, {10, 30}, {30, 10}}) {
      at::Tensor x = gaussian(rows, cols);
      x[4][7] = bad;
      for (const auto& [name, function, distance] : all()) {
        EXPECT_TRUE(function(x).isnan().all().item<bool>()) << name << " " << bad;
        EXPECT_TRUE(function(x.to(at::kFloat)).isnan().all().item<bool>()) << name << " " << bad;
      }
    }
  }
}

TEST(Orthogonalization, TurboEqualizesRowsOfDifferentSizes) {
  const at::Tensor x = gaussian(64, 256) * at::logspace(0, -2, 64, 10, at::kDouble).view({64, 1});
  const at::Tensor polar = polar_factor(x);
  EXPECT_LT(relative(turbo_newton_schulz(x, 4, Normalization::kScaleFree), polar),
            relative(newton_schulz(x, 5, Normalization::kScaleFree), polar));
}

TEST(Orthogonalization, LongerChainsRepeatTheLastStep) {
  const at::Tensor x = gaussian(20, 60);
  for (const int64_t steps : {5, 6, 9}) {
    const at::Tensor o = turbo_newton_schulz(x, steps, Normalization::kScaleFree);
    EXPECT_GT((o * x).sum().item<double>(), 0.9 * at::linalg_svdvals(x).sum().item<double>())
        << steps;
  }
  EXPECT_THROW(turbo_newton_schulz(x, 3, Normalization::kScaleFree), c10::Error);
}

}  // namespace
}  // namespace draftlab
