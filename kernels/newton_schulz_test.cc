#include "kernels/newton_schulz.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "base/json.h"
#include "kernels/orthogonalize.h"
#include "source_dir.h"
#include "testing/golden_quintics.h"

namespace draftlab {
namespace {

// Relative to the Frobenius norm.
constexpr double kFloat64Tolerance = 1e-10, kFloat32Tolerance = 1e-4;

double relative(const at::Tensor& a, const at::Tensor& b) {
  const double norm = b.norm().item<double>();
  return (a.to(at::kDouble) - b.to(at::kDouble)).norm().item<double>() / (norm > 0 ? norm : 1);
}

at::Tensor gaussian(int64_t rows, int64_t cols, uint64_t seed = 1) {
  at::manual_seed(seed);
  return at::randn({rows, cols}, at::kDouble);
}

at::Tensor polar_factor(const at::Tensor& x) { return newton_schulz(x, {}); }

// A matrix with the given singular values.
at::Tensor with_spectrum(const at::Tensor& s, int64_t rows, int64_t cols) {
  const auto [u, t, vh] = at::linalg_svd(gaussian(rows, cols, 7), false);
  return (u * s).mm(vh);
}

at::Tensor fast(const at::Tensor& x, const Orthogonalization& how) {
  static Workspace workspace;  // shared by all shapes and dtypes on purpose
  return orthogonalize(x, how, workspace).clone();
}

Orthogonalization chain(std::vector<Quintic> quintics, int64_t steps, double safety = 1) {
  return {.quintics = std::move(quintics), .steps = steps, .safety = safety};
}

Orthogonalization chain(const char* table, int64_t steps, double safety = 1) {
  return chain(quintic_table(table), steps, safety);
}

Orthogonalization with(Orthogonalization how, Normalizer normalizer) {
  how.normalizer = normalizer;
  return how;
}

Orthogonalization gram(Orthogonalization how, std::vector<int64_t> restarts) {
  how.form = Form::kGram;
  how.restarts = std::move(restarts);
  return how;
}

Orthogonalization floored(Orthogonalization how, Floor floor, double epsilon) {
  how.floor = floor;
  how.epsilon = epsilon;
  return how;
}

// ---- Golden values
// -------------------------------------------------------------------------------

Json golden(const char* file) {
  return read_json(std::string(DRAFTLAB_SOURCE_DIR "/tests/golden/") + file);
}

at::Tensor tensor(const Json& values, at::IntArrayRef shape) {
  at::Tensor x = at::empty(shape, at::kDouble);
  EXPECT_EQ(static_cast<int64_t>(values.as_array().size()), x.numel());
  double* to = x.mutable_data_ptr<double>();
  for (const Json& value : values.as_array()) *to++ = json_number(value, "golden values");
  return x;
}

// Every method of ortho.json as our options.
std::map<std::string, Orthogonalization> published_methods() {
  const auto plus = [](Orthogonalization how, double epsilon = 1e-7) {
    return floored(std::move(how), Floor::kPlus, epsilon);
  };
  const auto at_least = [](Orthogonalization how, double epsilon = 1e-7) {
    return floored(std::move(how), Floor::kAtLeast, epsilon);
  };
  const Orthogonalization old_aol = {.quintics = flipping_aol(), .steps = 4};
  return {
      {"polar_exact", {}},
      {"kj_ns5", plus(chain("kj5", 5))},
      {"torch_ns5", at_least(chain("kj5", 5))},
      {"optax_ns5", plus(chain("kj5", 5), 1e-8)},
      {"you5_dion", plus(chain("you5", 5))},
      {"pe5_modded", plus(chain(polar_express_of_nanogpt(), 5, 1.02), 1e-6)},
      {"pe5_official", plus(chain(polar_express_of_its_authors(), 5, 1.01))},
      {"pe8_official", plus(chain(polar_express_of_its_authors(), 8, 1.01))},
      {"pe5_gns105", plus(chain("pe5_gns", 5))},
      {"gram_pe5_restart2", plus(gram(chain("pe5_gns", 5), {2}))},
      {"gram_you5_restart2", plus(gram(chain("you5", 5), {2}))},
      {"gram_pe5_norestart", plus(gram(chain("pe5_gns", 5), {}))},
      {"cans5", plus(chain("cans5", 5))},
      {"turbo_aol4", at_least(with(chain("aol4", 4), Normalizer::kAol))},
      {"turbo_aol4_oldcoef", at_least(with(old_aol, Normalizer::kAol))},
      {"aol4coef_fro_MISUSE", plus(chain("aol4", 4))},
      {"schatten4_kj5", at_least(with(chain("kj5", 5), Normalizer::kSchatten4), 1e-8)},
      {"schatten4_aol4", at_least(with(chain("aol4", 4), Normalizer::kSchatten4), 1e-8)},
      {"deepseekv4_10", plus(chain("dsv4_10", 10))},
      {"cubic5", plus(chain("cubic5", 5))},
      {"classic3_12", plus(chain("classic3", 12))},
      {"classic5_10", plus(chain("classic5", 10))},
  };
}

// Rounding of the input is amplified by the steepest part of the chain: at 0 for matrices that lack
// rank, at 1 for CANS without safety. A Gram matrix holds small singular values less exactly, and
// without a restart hardly at all.
double float32_tolerance(const Orthogonalization& how) {
  if (how.form == Form::kGram) return how.restarts.empty() ? 1e-2 : 5e-4;
  const auto value = [&](double x) {
    for (int64_t k = 0; k < how.steps; ++k) x = quintic(how.quintics, k)(x);
    return x;
  };
  double steepest = 0;
  for (int i = 0; i < 1000; ++i) {
    const double step = 1e-3;
    steepest = std::max(steepest, std::abs(value((i + 1) * step) - value(i * step)) / step);
  }
  for (const double x : {0., 1.})
    steepest = std::max(steepest, std::abs(value(x + 1e-7) - value(x)) / 1e-7);
  return std::max(kFloat32Tolerance, 2e-7 * steepest);
}

TEST(NewtonSchulz, EqualsTheGoldenValuesOfEverySource) {
  const Json file = golden("ortho.json");
  const auto methods = published_methods();
  ASSERT_EQ(file.at("cases").as_array().size(), 17);
  ASSERT_EQ(file.at("methods").as_array().size(), methods.size());
  for (const Json& c : file.at("cases").as_array()) {
    const std::vector<int64_t> shape = {c.at("rows").as_int64(), c.at("cols").as_int64()};
    const at::Tensor x = tensor(c.at("input_row_major"), shape);
    for (const auto& [name, how] : methods) {
      const at::Tensor expected = tensor(c.at("outputs").at(name), shape);
      const std::string what = name + " of " + c.at("name").as_string().c_str();
      EXPECT_LE(relative(newton_schulz(x, how), expected), kFloat64Tolerance) << what;
      EXPECT_LE(relative(fast(x, how), expected), kFloat64Tolerance) << "fast " << what;
      // The smallest of these singular values is at float32's rounding of the largest.
      if (how.quintics.empty() && c.at("name").as_string() == "spec6x6_6dec") continue;
      const at::Tensor single = x.to(at::kFloat);
      const double tolerance = how.quintics.empty() ? kFloat32Tolerance : float32_tolerance(how);
      EXPECT_LE(relative(newton_schulz(single, how), expected), tolerance) << what;
      EXPECT_LE(relative(fast(single, how), expected), tolerance) << "fast " << what;
    }
  }
}

// maxtext#4843, and the norm taken over a whole batch.
TEST(NewtonSchulz, MatricesOfABatchAreIndependent) {
  const Json file = golden("batch.json");
  const auto how = floored(chain("kj5", 5), Floor::kPlus, 1e-7);
  at::Tensor x = at::empty({2, 3, 5}, at::kDouble), expected = at::empty_like(x);
  for (int64_t b = 0; b < 2; ++b) {
    x[b].copy_(tensor(file.at("input").as_array()[b], {3, 5}));
    expected[b].copy_(tensor(file.at("kj_ns5_per_slice").as_array()[b], {3, 5}));
  }
  EXPECT_LE(relative(newton_schulz(x, how), expected), kFloat64Tolerance);
  EXPECT_LE(relative(fast(x, how), expected), kFloat64Tolerance);
  // The convolution's view of the same numbers, which is another matrix.
  EXPECT_LE(relative(newton_schulz(x.reshape({2, 15}), how),
                     tensor(file.at("kj_ns5_conv_flatten_2x15"), {2, 15})),
            kFloat64Tolerance);
  EXPECT_GT(relative(tensor(file.at("kj_ns5_WRONG_flatten_6x5"), {2, 3, 5}), expected), 0.1);
}

TEST(NewtonSchulz, ZeroRowsAppendedToAMatrixChangeNothing) {
  const Json file = golden("misc.json").at("zero_row_padding");
  const auto how = floored(chain("kj5", 5), Floor::kPlus, 1e-7);
  const at::Tensor expected = tensor(file.at("kj_ns5_padded"), {5, 5});
  const at::Tensor x =
      tensor(golden("batch.json").at("input").as_array()[0], {3, 5});  // the same formula
  const at::Tensor padded = at::cat({x, at::zeros({2, 5}, at::kDouble)});
  EXPECT_LE(relative(newton_schulz(padded, how), expected), kFloat64Tolerance);
  EXPECT_LE(relative(fast(padded, how), expected), kFloat64Tolerance);
  EXPECT_LE(relative(fast(x, how), tensor(file.at("kj_ns5_unpadded"), {3, 5})), kFloat64Tolerance);
}

at::Tensor hash257(int64_t rows, int64_t cols) {
  at::Tensor x = at::empty({rows, cols}, at::kDouble);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      const int64_t k = (31 * i * i + 17 * j * j + 53 * i * j + 7 * i + 11 * j + 3) % 257;
      x[i][j] = static_cast<double>(k - 128) / 128;
    }
  }
  return x;
}

// deepspeed#7807, deepspeed#8090: orthogonalizing what one rank holds is something else.
TEST(NewtonSchulz, PartsOfAMatrixCannotBeOrthogonalizedAlone) {
  const Json file = golden("repro.json").at("ns_on_shards");
  const auto how = floored(chain("kj5", 5), Floor::kPlus, 1e-7);
  const at::Tensor x = hash257(4, 6);
  const at::Tensor right = tensor(file.at("right"), {4, 6});
  const at::Tensor parts =
      at::cat({newton_schulz(x.slice(0, 0, 2), how), newton_schulz(x.slice(0, 2, 4), how)});
  EXPECT_LE(relative(newton_schulz(x, how), right), kFloat64Tolerance);
  EXPECT_LE(relative(parts, tensor(file.at("faulty"), {4, 6})), kFloat64Tolerance);
  EXPECT_NEAR(relative(parts, right), json_number(file.at("rel"), "rel"), 1e-9);
}

// optax' inverted length check and Emerging-Optimizers' cycling through tables.
TEST(NewtonSchulz, ChainsLongerThanTheirTableHaveTheGoldenQuality) {
  const Json file = golden("repro.json").at("coefficient_table_overrun");
  const at::Tensor x = hash257(4, 7);
  const double nuclear = at::linalg_svdvals(x).sum().item<double>();
  const auto table = [](const char* name) { return quintic_table(name); };
  const auto cycled = [](std::vector<Quintic> table) {
    table.push_back(table.front());
    return table;
  };
  const std::vector<Quintic> you = table("you5");
  struct Case {
    const char* key;
    std::vector<Quintic> quintics;
    int64_t steps;
  };
  for (const auto& [key, quintics, steps] :
       {Case{"aol_old_4_steps", flipping_aol(), 4},
        {"aol_old_5_steps_cycle", cycled(flipping_aol()), 5},
        {"aol_old_5_steps_repeat_last", flipping_aol(), 5},
        {"aol4_4_steps", table("aol4"), 4},
        {"aol4_5_steps_cycle", cycled(table("aol4")), 5},
        {"aol4_5_steps_repeat_last", table("aol4"), 5},
        {"you_5_steps", you, 5},
        {"you_6_steps_cycle", cycled(you), 6},
        {"you_6_steps_repeat_last", you, 6},
        {"you_last3_optax_truncation", {you.begin() + 2, you.end()}, 3},
        {"you_first3_truncation", {you.begin(), you.begin() + 3}, 3}}) {
    const Orthogonalization how = {
        .quintics = quintics, .steps = steps, .floor = Floor::kPlus, .epsilon = 1e-7};
    const auto& expected = file.at(key).as_array();
    for (const at::Tensor& o : {newton_schulz(x, how), fast(x, how)}) {
      EXPECT_NEAR((o * x).sum().item<double>() / nuclear, json_number(expected[0], key), 1e-9)
          << key;
      EXPECT_NEAR(relative(o, polar_factor(x)), json_number(expected[1], key), 1e-9) << key;
    }
  }
}

TEST(NewtonSchulzDiagonal, EqualsTheGoldenValuesAndTheDiagonalMatrix) {
  const Json file = golden("misc.json").at("muonall_1d");
  const at::Tensor g = tensor(file.at("g"), {8});
  auto how = floored(chain("kj5", 5), Floor::kPlus, 1e-7);
  EXPECT_LE(relative(newton_schulz_diagonal(g, how), tensor(file.at("elementwise_5"), {8})),
            kFloat64Tolerance);
  EXPECT_LE(relative(newton_schulz_diagonal(g, how), tensor(file.at("diag_matrix_path_5"), {8})),
            kFloat64Tolerance);
  how.steps = 6;
  EXPECT_LE(relative(newton_schulz_diagonal(g, how), tensor(file.at("elementwise_6"), {8})),
            kFloat64Tolerance);
  for (const auto& [name, method] : published_methods()) {
    EXPECT_LE(relative(newton_schulz_diagonal(g, method), newton_schulz(g.diag(), method).diag()),
              kFloat64Tolerance)
        << name;
  }
}

// ---- Properties of every orthogonalizer
// ----------------------------------------------------------

struct Orthogonalizer {
  const char* name;
  Orthogonalization how;
  double distance;  // largest relative distance to the polar factor of a Gaussian matrix, sides 1:4
  double alignment;  // least tr(O^T X) / ||X||_* over the spectra below
  bool fast = false;

  at::Tensor operator()(const at::Tensor& x) const {
    return fast ? draftlab::fast(x, how) : newton_schulz(x, how);
  }
  bool scales_rows() const { return !how.quintics.empty() && how.normalizer == Normalizer::kAol; }
};

std::ostream& operator<<(std::ostream& out, const Orthogonalizer& orthogonalizer) {
  return out << (orthogonalizer.fast ? "fast " : "plain ") << orthogonalizer.name;
}

std::vector<Orthogonalizer> every_orthogonalizer() {
  std::vector<Orthogonalizer> all = {
      {"exact", {}, 1e-12, 1},
      {"kj5", chain("kj5", 5), 0.25, 0.6},
      {"kj5 with 3 steps", chain("kj5", 3), 0.5, 0.6},
      {"you5", chain("you5", 5), 0.1, 0.6},
      {"dsv4_10", chain("dsv4_10", 10), 1e-3, 0.99},
      {"cubic5", chain("cubic5", 5), 0.25, 0.6},
      {"classic3", chain("classic3", 20), 1e-10, 0.6},
      {"classic5", chain("classic5", 10), 1e-10, 0.6},
      {"Polar Express of the paper",
       chain(polar_express_quintics(1e-3, 8, 0, 0.02407327424182761), 8, 1.01), 1e-4, 0.6},
      {"Polar Express, 2 % safety", chain(polar_express_of_nanogpt(), 5, 1.02), 0.13, 0.6},
      {"Polar Express, 1 % safety", chain(polar_express_of_its_authors(), 5, 1.01), 0.13, 0.6},
      {"generated Polar Express",
       {.quintics = polar_express_quintics(1e-2, 4, 0.02, 0.05), .steps = 4, .safety = 1.02},
       0.25,
       0.6},
      {"cans5", chain("cans5", 5, 1.01), 0.13, 0.6},
      {"gram, restart 2", gram(chain("pe5_gns", 5), {2}), 0.13, 0.6},
      {"gram, restarts 2 and 4", gram(chain("you5", 6), {2, 4}), 0.13, 0.6},
      {"schatten4", with(chain("aol4", 4), Normalizer::kSchatten4), 0.1, 0.6},
      {"turbo", with(chain("aol4", 4), Normalizer::kAol), 0.1, 0.6},
      {"turbo with 6 steps", with(chain("aol4", 6), Normalizer::kAol), 0.1, 0.6},
  };
  for (size_t i = 0, count = all.size(); i < count; ++i) {
    all.push_back(all[i]);
    all.back().fast = true;
  }
  return all;
}

class EveryOrthogonalizer : public testing::TestWithParam<Orthogonalizer> {};
INSTANTIATE_TEST_SUITE_P(, EveryOrthogonalizer, testing::ValuesIn(every_orthogonalizer()));

// The spectra of ortho_table.csv for matrices of rank 24.
std::vector<at::Tensor> spectra() {
  const auto option = at::TensorOptions().dtype(at::kDouble);
  const at::Tensor i = at::arange(1, 25, option), one = at::ones({1}, option);
  return {at::ones({24}, option),
          at::logspace(0, -1, 24, 10, option),
          at::logspace(0, -2, 24, 10, option),
          at::logspace(0, -3, 24, 10, option),
          at::logspace(0, -4, 24, 10, option),
          i.reciprocal(),
          i.rsqrt(),
          at::cat({one.expand({8}), at::full({16}, 1e-3, option)}),
          at::cat({one, at::full({23}, 1e-4, option)})};
}

TEST_P(EveryOrthogonalizer, StaysWithinTheKnownDistanceOfThePolarFactor) {
  const at::Tensor x = gaussian(64, 256);
  EXPECT_LE(relative(GetParam()(x), polar_factor(x)), GetParam().distance);
}

// Emerging-Optimizers' "aol", and every chain whose polynomials turn negative: measures of
// orthogonality do not see it.
TEST_P(EveryOrthogonalizer, EverySingularDirectionKeepsItsSign) {
  for (const at::Tensor& s : spectra()) {
    const at::Tensor x = with_spectrum(s, 24, 60);
    const auto [u, t, vh] = at::linalg_svd(x, false);
    const at::Tensor o = GetParam()(x);
    EXPECT_GT((u.t().mm(o).mm(vh.t())).diagonal().min().item<double>(), 0) << s;
    EXPECT_GE((o * x).sum().item<double>() / t.sum().item<double>(), GetParam().alignment - 1e-9)
        << s;
  }
}

TEST_P(EveryOrthogonalizer, FollowsPermutationsAndRotations) {
  const at::Tensor rows = at::randperm(20), cols = at::randperm(50);
  const at::Tensor p = polar_factor(gaussian(20, 20, 2)), q = polar_factor(gaussian(50, 50, 3));
  const at::Tensor x = gaussian(20, 50), o = GetParam()(x);
  EXPECT_LE(relative(GetParam()(x.index_select(0, rows).index_select(1, cols)),
                     o.index_select(0, rows).index_select(1, cols)),
            kFloat64Tolerance);
  EXPECT_LE(relative(GetParam()(x.mm(q)), o.mm(q)), kFloat64Tolerance);
  // Row scaling ties Turbo to the basis of the shorter side; there it follows signs.
  const at::Tensor turn = GetParam().scales_rows() ? at::sign(p.diagonal()).diag() : p;
  EXPECT_LE(relative(GetParam()(turn.mm(x)), turn.mm(o)), kFloat64Tolerance);
}

TEST_P(EveryOrthogonalizer, TheTransposeGivesTheTranspose) {
  const at::Tensor x = gaussian(20, 50), square = gaussian(30, 30);
  EXPECT_LE(relative(GetParam()(x.t()), GetParam()(x).t()), kFloat64Tolerance);
  EXPECT_LE(relative(GetParam()(x.t().contiguous()), GetParam()(x).t()), kFloat64Tolerance);
  if (GetParam().scales_rows())
    return;  // a square matrix has rows scaled, and so has its transpose
  EXPECT_LE(relative(GetParam()(square.t()), GetParam()(square).t()), kFloat64Tolerance);
}

// Emerging-Optimizers#229, #230: a published epsilon makes tiny gradients count less.
// deepspeed#8533: huge ones overflow.
TEST_P(EveryOrthogonalizer, TheScaleOfTheInputDoesNotMatter) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{40, 70}, {70, 40}, {50, 50}}) {
    const at::Tensor x = gaussian(rows, cols).to(at::kFloat), once = GetParam()(x);
    EXPECT_TRUE(at::equal(GetParam()(x * 0x1p-66), once));  // about 1e-20, and exact
    EXPECT_TRUE(at::equal(GetParam()(x * 0x1p66), once));
    EXPECT_LE(relative(GetParam()(x * 1e-20), once), kFloat32Tolerance);
    EXPECT_LE(relative(GetParam()(x * 1e20), once), kFloat32Tolerance);
    EXPECT_LE(relative(GetParam()(x.to(at::kDouble) * 1e-150), once), kFloat32Tolerance);
    EXPECT_LE(relative(GetParam()(x.to(at::kDouble) * 1e150), once), kFloat32Tolerance);
    EXPECT_LE(relative(GetParam()(-x), -once), 1e-6);
  }
}

// dion#24, Emerging-Optimizers#254: 0/0.
TEST_P(EveryOrthogonalizer, ZerosStayZero) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    EXPECT_TRUE(at::equal(GetParam()(at::zeros({5, 9}, dtype)), at::zeros({5, 9}, dtype)));
    at::Tensor x = gaussian(30, 80).to(dtype);
    x[3].zero_();
    x.select(1, 40).zero_();
    const at::Tensor o = GetParam()(x);
    // The SVD finds the zero row only up to rounding.
    const double tolerance = GetParam().how.quintics.empty() ? 1e-6 : 0;
    EXPECT_LE(o[3].abs().max().item<double>(), tolerance);
    EXPECT_LE(o.select(1, 40).abs().max().item<double>(), tolerance);
    EXPECT_FALSE(o.isnan().any().item<bool>());
  }
}

// dion#56: a batch padded with zero matrices.
TEST_P(EveryOrthogonalizer, AZeroMatrixInABatchStaysZeroAndDisturbsNoOther) {
  const at::Tensor x = gaussian(12, 20);
  const at::Tensor batch = at::stack({x, at::zeros_like(x), 1e6 * x});
  const at::Tensor o = GetParam()(batch);
  EXPECT_LE(relative(o[0], GetParam()(x)), kFloat64Tolerance);
  EXPECT_EQ(o[1].abs().max().item<double>(), 0);
  EXPECT_LE(relative(o[2], GetParam()(x)), kFloat64Tolerance);
}

TEST_P(EveryOrthogonalizer, NotANumberAndInfinityAreReported) {
  for (const double bad : {double{NAN}, double{INFINITY}, -double{INFINITY}}) {
    for (const at::Tensor& good : {gaussian(20, 20), gaussian(10, 30), gaussian(30, 10)}) {
      for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
        at::Tensor x = good.to(dtype, /*non_blocking=*/false, /*copy=*/true);
        x[4][7] = bad;
        EXPECT_THROW(GetParam()(x), Error) << bad << x.sizes();
        EXPECT_THROW(GetParam()(at::stack({good.to(dtype), x})), Error) << bad;
      }
    }
  }
}

// pytorch#194664: normalizing in place overwrote the momentum; Gram Newton-Schulz' own code does
// it to float32 callers.
TEST_P(EveryOrthogonalizer, TheInputIsNeverWritten) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const at::Tensor& x : {gaussian(20, 50).to(dtype), gaussian(50, 20).to(dtype)}) {
      const at::Tensor copy = x.clone();
      const at::Tensor o = GetParam()(x);
      EXPECT_TRUE(at::equal(x, copy));
      EXPECT_FALSE(o.is_alias_of(x));
    }
  }
}

TEST_P(EveryOrthogonalizer, Float32AgreesWithFloat64) {
  // The exact factor turns the smallest directions by their condition number, 1e4, times rounding.
  const Orthogonalization& how = GetParam().how;
  const double tolerance = how.quintics.empty()      ? 1e-3
                           : how.form == Form::kGram ? 5e-4
                                                     : kFloat32Tolerance;
  // Rows of very different sizes, few large directions, many small ones.
  for (const at::Tensor& x : {gaussian(96, 96), gaussian(130, 400), gaussian(400, 130),
                              with_spectrum(at::logspace(0, -4, 60, 10, at::kDouble), 60, 200),
                              gaussian(80, 90) * gaussian(80, 1).exp()}) {
    EXPECT_LE(relative(GetParam()(x.to(at::kFloat)), GetParam()(x)), tolerance) << x.sizes();
  }
}

TEST(NewtonSchulz, WhatIsNoMatrixAndNoStepsAreRefused) {
  Workspace workspace;
  for (const at::Tensor& x : {at::ones({3}), at::ones({2, 3, 4, 5})}) {
    EXPECT_THROW(newton_schulz(x, chain("kj5", 5)), Error);
    EXPECT_THROW(orthogonalize(x, chain("kj5", 5), workspace), Error);
  }
  EXPECT_THROW(orthogonalize(at::ones({3, 4}, at::kHalf), chain("kj5", 5), workspace), Error);
  EXPECT_THROW(newton_schulz(at::ones({3, 4}), chain("kj5", 0)), Error);
  EXPECT_THROW(orthogonalize(at::ones({3, 4}), chain("kj5", 0), workspace), Error);
  EXPECT_THROW(newton_schulz_diagonal(at::ones({3, 3}), chain("kj5", 5)), Error);
  EXPECT_THROW(newton_schulz_diagonal(at::full({3}, NAN), chain("kj5", 5)), Error);
}

TEST(NewtonSchulz, WithoutFloorItAgreesWithTheFloorsAtOrdinaryScale) {
  const at::Tensor x = gaussian(30, 50);
  for (const auto& [name, how] : published_methods()) {
    EXPECT_LE(relative(newton_schulz(x, floored(how, Floor::kNone, 0)), newton_schulz(x, how)),
              1e-6)
        << name;
  }
}

TEST(NewtonSchulz, TurboEqualizesRowsOfDifferentSizes) {
  const at::Tensor x = gaussian(64, 256) * at::logspace(0, -2, 64, 10, at::kDouble).view({64, 1});
  const at::Tensor polar = polar_factor(x);
  EXPECT_LT(relative(newton_schulz(x, with(chain("aol4", 4), Normalizer::kAol)), polar), 0.1);
  EXPECT_GT(relative(newton_schulz(x, chain("kj5", 5)), polar), 0.2);
}

TEST(NewtonSchulz, VectorsAsMatricesAreNormalized) {  // speculators#821
  const at::Tensor x = gaussian(1, 30);
  for (const at::Tensor& v : {x, x.t()}) {
    EXPECT_LE(relative(fast(v, {}), v / v.norm()), 1e-12);
    EXPECT_LE(relative(fast(v, chain("kj5", 5)), 0.6964364094697522 * v / v.norm()),
              kFloat64Tolerance);
  }
}

}  // namespace
}  // namespace draftlab
