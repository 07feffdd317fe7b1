// How orthogonal every method makes 256 x 256 and 256 x 1024 matrices with known spectra, against
// tests/golden/ortho_table.csv: float32 must be as good as float64, and bfloat16 not much worse
// than its emulation.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "kernels/orthogonalize.h"
#include "source_dir.h"
#include "testing/golden_quintics.h"

namespace draftlab {
namespace {

constexpr int64_t kSize = 256;

struct Metrics {
  double smallest, largest;  // singular values of O in the directions of X
  double rel_polar;          // ||O - polar factor||_F / sqrt(rank)
  double align;              // tr(O^T X) / ||X||_*
};

using Table = std::map<std::string, Metrics>;  // by spectrum,method,arithmetic

const Table& table() {
  static const Table table = [] {
    Table table;
    std::ifstream file(DRAFTLAB_SOURCE_DIR "/tests/golden/ortho_table.csv");
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::vector<std::string> f;
      for (std::string field; std::getline(fields, field, ',');) f.push_back(field);
      table[f.at(0) + "," + f.at(2) + "," + f.at(3)] = {std::stod(f.at(7)), std::stod(f.at(8)),
                                                        std::stod(f.at(9)), std::stod(f.at(10))};
    }
    return table;
  }();
  return table;
}

at::Tensor orthogonal_columns(int64_t rows, int64_t cols) {
  return std::get<0>(at::linalg_qr(at::randn({rows, cols}, at::kDouble)));
}

// X = U diag(s) V^T, whose U and V are random.
struct Case {
  std::string name;
  at::Tensor s, u, v, x;
  // Of metrics against the CSV: its four digits and float32's rounding of null spaces; more where
  // the CSV has another draw of the spectrum.
  double tolerance = 4e-3;
  bool known_spectrum() const { return tolerance < 0.01; }
};

Case known(const std::string& name, at::Tensor s, int64_t cols = kSize) {
  Case c = {name, s, orthogonal_columns(kSize, s.size(0)), orthogonal_columns(cols, s.size(0)), {}};
  c.x = (c.u * s).mm(c.v.t());
  return c;
}

Case drawn(const std::string& name, const at::Tensor& x, double tolerance) {
  const auto [u, s, vh] = at::linalg_svd(x, false);
  return {name, s, u, vh.t(), x, tolerance};
}

const std::vector<Case>& cases() {
  static const std::vector<Case> cases = [] {
    at::manual_seed(11);
    const auto option = at::TensorOptions().dtype(at::kDouble);
    const at::Tensor i = at::arange(1, kSize + 1, option), one = at::ones({1}, option);
    const auto log_uniform = [&](double decades, int64_t rank = kSize) {
      return at::logspace(0, -decades, rank, 10, option);
    };
    const auto normal = [&](int64_t rows, int64_t cols) { return at::randn({rows, cols}, option); };
    std::vector<Case> cases;
    cases.push_back(known("flat_cond1_256x256", at::ones({kSize}, option)));
    cases.push_back(known("loguniform_cond1e+01_256x256", log_uniform(1)));
    cases.push_back(known("loguniform_cond1e+02_256x256", log_uniform(2)));
    cases.push_back(known("loguniform_cond1e+03_256x256", log_uniform(3)));
    cases.push_back(known("loguniform_cond1e+04_256x256", log_uniform(4)));
    cases.push_back(known("loguniform_cond1e+03_256x1024", log_uniform(3), 1024));
    cases.push_back(known("powerlaw_i^-1_256x256", i.reciprocal()));
    cases.push_back(known("powerlaw_i^-0.5_256x256", i.rsqrt()));
    cases.push_back(known("spiked_8x1_rest1e-3_256x256",
                          at::cat({one.expand({8}), at::full({kSize - 8}, 1e-3, option)})));
    cases.push_back(known("rank1dominant_rest1e-4_256x256",
                          at::cat({one, at::full({kSize - 1}, 1e-4, option)})));
    cases.push_back(known("rank32_of_256_cond30", log_uniform(1.5, 32)));
    cases.push_back(drawn("gaussian_256x1024", normal(kSize, 1024), 0.03));
    cases.push_back(drawn("gaussian_rows_lognormal(s=2)_256x1024",
                          normal(kSize, 1024) * (2 * normal(kSize, 1)).exp(), 0.15));
    cases.push_back(drawn("gaussian_cols_lognormal(s=2)_256x1024",
                          normal(kSize, 1024) * (2 * normal(1, 1024)).exp(), 0.15));
    return cases;
  }();
  return cases;
}

Metrics measure(const Case& c, const at::Tensor& output) {
  const at::Tensor o = output.to(at::kDouble);
  const at::Tensor along = (c.u * o.mm(c.v)).sum(0);  // u_i^T O v_i
  return {along.min().item<double>(), along.max().item<double>(),
          (o - c.u.mm(c.v.t())).norm().item<double>() / std::sqrt(static_cast<double>(c.s.size(0))),
          (c.s * along).sum().item<double>() / c.s.sum().item<double>()};
}

struct Row {
  const char* method;  // of the CSV
  Orthogonalization how;
};

std::vector<Row> methods() {
  const auto chain = [](std::vector<Quintic> quintics, int64_t steps, double safety,
                        Normalizer normalizer = Normalizer::kFrobenius) {
    return Orthogonalization{.quintics = std::move(quintics),
                             .steps = steps,
                             .normalizer = normalizer,
                             .safety = safety};
  };
  const auto how = [&](const char* name, int64_t steps,
                       Normalizer normalizer = Normalizer::kFrobenius) {
    return chain(quintic_table(name), steps, 1, normalizer);
  };
  const auto gram = [&](const char* name) {
    Orthogonalization gram = how(name, 5);
    gram.form = Form::kGram;
    gram.restarts = {2};
    return gram;
  };
  return {
      {"kj_fro_k3", how("kj5", 3)},
      {"kj_fro_k5", how("kj5", 5)},
      {"kj_fro_k10", how("kj5", 10)},
      {"you_fro_k5", how("you5", 5)},
      {"deepseekv4_k10", how("dsv4_10", 10)},
      {"cubic5_k5", how("cubic5", 5)},
      {"classic_cubic_k5", how("classic3", 5)},
      {"classic_quintic_k10", how("classic5", 10)},
      {"polar_express_modded1.02_k5", chain(polar_express_of_nanogpt(), 5, 1.02)},
      {"polar_express_official1.01_k3", chain(polar_express_of_its_authors(), 3, 1.01)},
      {"polar_express_official1.01_k8", chain(polar_express_of_its_authors(), 8, 1.01)},
      {"polar_express_gns1.05_k5", how("pe5_gns", 5)},
      {"schatten4_with_kj_k4", how("kj5", 4, Normalizer::kSchatten4)},
      {"schatten4_with_aolcoef_k4", how("aol4", 4, Normalizer::kSchatten4)},
      {"fro_with_aolcoef_k4", how("aol4", 4)},
      {"gram_pe1.05_restart2", gram("pe5_gns")},
      {"gram_you_restart2", gram("you5")},
      {"turbo_aol_k4", how("aol4", 4, Normalizer::kAol)},
  };
}

TEST(Orthogonality, Float32IsAsGoodAsTheTableSaysOfFloat64) {
  Workspace workspace;
  for (const Case& c : cases()) {
    const at::Tensor x = c.x.to(at::kFloat);
    for (const auto& [method, how] : methods()) {
      const auto row = table().find(c.name + "," + method + ",f64");
      ASSERT_NE(row, table().end()) << c.name << method;
      const Metrics expected = row->second, actual = measure(c, orthogonalize(x, how, workspace));
      // A known spectrum decides everything, except for Turbo, whose row sums depend on U and V.
      const bool turbo = how.normalizer == Normalizer::kAol;
      const double tolerance = turbo ? std::max(c.tolerance, 0.03) : c.tolerance;
      EXPECT_NEAR(actual.rel_polar, expected.rel_polar, tolerance) << c.name << " " << method;
      EXPECT_NEAR(actual.align, expected.align, tolerance) << c.name << " " << method;
      if (turbo || !c.known_spectrum()) continue;
      EXPECT_NEAR(actual.smallest, expected.smallest, tolerance) << c.name << " " << method;
      EXPECT_NEAR(actual.largest, expected.largest, tolerance) << c.name << " " << method;
    }
  }
}

TEST(Orthogonality, FastFloat32EqualsPlainFloat32OnEverySpectrum) {
  Workspace workspace;
  for (const Case& c : cases()) {
    // Zero columns make the matrix wide, so that steps run on its Gram matrix, and change nothing.
    const at::Tensor x = at::cat({c.x, at::zeros({kSize, 32}, at::kDouble)}, 1).to(at::kFloat);
    for (const auto& [method, how] : methods()) {
      if (how.form == Form::kGram) continue;
      double slope = 1;
      for (int64_t k = 0; k < how.steps; ++k) slope *= quintic(how.quintics, k).a;
      // Both are within 1e-4 of float64, except where a chain of eight steps and more amplifies the
      // rounding of null spaces.
      const double tolerance = how.steps < 8 ? 1.5e-4 : std::max(1.5e-4, 2e-7 * slope);
      const at::Tensor expected = newton_schulz(x, how), o = orthogonalize(x, how, workspace);
      EXPECT_LE(((o - expected).norm() / expected.norm()).item<double>(), tolerance)
          << c.name << " " << method;
    }
  }
}

// Emerging-Optimizers#228, dion#55, dion#76: outliers and NaN of 16-bit storage. The polynomials
// with a safety stay bounded and keep the gradient's direction on every spectrum.
TEST(Orthogonality, Bfloat16IsNotMuchWorseThanTheTableSays) {
  for (const Case& c : cases()) {
    if (c.x.size(1) > kSize) continue;
    const at::Tensor x = c.x.to(at::kBFloat16);
    for (const auto& [method, how] : methods()) {
      const std::string name = method;
      if (name != "kj_fro_k5" && name != "you_fro_k5" && name != "polar_express_modded1.02_k5" &&
          name != "turbo_aol_k4")
        continue;
      const Metrics expected = table().at(c.name + "," + method + ",bf16"),
                    actual = measure(c, newton_schulz(x, how));
      // Every operation rounds here, in the table only the storage of each step's matrices, which
      // moves singular values by up to a tenth and null spaces by more.
      EXPECT_LE(actual.rel_polar, expected.rel_polar + 0.2) << c.name << " " << method;
      EXPECT_GE(actual.align, expected.align - 0.1) << c.name << " " << method;
      EXPECT_LE(actual.largest, 1.25) << c.name << " " << method;
    }
  }
}

}  // namespace
}  // namespace draftlab
