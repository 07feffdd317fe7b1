#include "kernels/quintic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/json.h"
#include "source_dir.h"
#include "testing/golden_quintics.h"

namespace draftlab {
namespace {

double chain(const std::vector<Quintic>& table, int64_t steps, double x) {
  for (int64_t k = 0; k < steps; ++k) x = quintic(table, k)(x);
  return x;
}

void expect_relative(double actual, double expected, double tolerance, const std::string& what) {
  EXPECT_LE(std::abs(actual - expected), tolerance * std::abs(expected)) << what << " " << actual;
}

Json golden() { return read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/coeffs.json"); }

// Our names of the tables in coeffs.json, with the length of the published chain.
struct Published {
  const char *golden, *name;
  int64_t steps;
};
const Published kPublished[] = {
    {"kj5", "kj5", 5},       {"you5", "you5", 5},
    {"aol4", "aol4", 4},     {"pe5_gns_div1.05", "pe5_gns", 5},
    {"cans5", "cans5", 5},   {"deepseekv4_10", "dsv4_10", 10},
    {"cubic5", "cubic5", 5},
};

TEST(QuinticTable, HoldsThePublishedCoefficients) {
  const Json tables = golden().at("tables");
  for (const auto& [key, name, steps] : kPublished) {
    const auto& expected = tables.at(key).as_array();
    ASSERT_EQ(static_cast<int64_t>(expected.size()), steps) << key;
    for (int64_t k = 0; k < steps; ++k) {
      const Quintic& p = quintic(quintic_table(name), k);
      const auto& triple = expected[k].as_array();
      // The published digits of Polar Express hold twelve of the generated ones.
      expect_relative(p.a, json_number(triple[0], key), 1e-12, name);
      expect_relative(p.b, json_number(triple[1], key), 1e-12, name);
      expect_relative(p.c, json_number(triple[2], key), 1e-12, name);
    }
  }
}

TEST(QuinticTable, ChainsHaveTheKnownSlopeValuesAndSafeRange) {
  const Json all = golden();
  for (const auto& [key, name, steps] : kPublished) {
    const auto& table = quintic_table(name);
    const auto p = [&, s = steps](double x) { return chain(table, s, x); };
    expect_relative(p(1e-12) / 1e-12, json_number(all.at("slope_at_zero").at(key), key), 1e-10,
                    name);
    expect_relative(p(1), json_number(all.at("p_at_1").at(key), key), 1e-10, name);
    for (const auto& [x, value] : all.at("chain_values").at(key).as_object())
      expect_relative(p(std::stod(x)), json_number(value, key), 1e-10, name);
  }
}

TEST(QuinticTable, SingularValuesUpToTheKnownLimitStayBelowOneAndAHalf) {
  const Json limits = golden().at("max_safe_sigma");
  std::vector<Published> all(std::begin(kPublished), std::end(kPublished));
  all.push_back({"classic3", "classic3", 12});
  all.push_back({"classic5", "classic5", 10});
  for (const auto& [key, name, steps] : all) {
    const double limit = json_number(limits.at(key), key);  // to four decimals
    const auto& table = quintic_table(name);
    for (double x = 0; x < limit - 1e-4; x += 1e-3)
      EXPECT_LT(std::abs(chain(table, steps, x)), 1.5) << name << " at " << x;
    EXPECT_FALSE(std::abs(chain(table, steps, limit + 2e-4)) < 1.5) << name;
  }
}

TEST(PolarExpress, IsSafeUpToItsKnownLimit) {
  const Json limits = golden().at("max_safe_sigma");
  for (const auto& [key, safety] :
       {std::pair{"pe5_official_101", 0.01}, {"pe5_modded_1.02", 0.02}}) {
    const double limit = json_number(limits.at(key), key);
    const auto table = polar_express_quintics(1e-3, safety == 0.01 ? 10 : 5, safety, 0.02);
    EXPECT_LT(std::abs(chain(table, 5, limit - 1e-4)), 1.5) << key;
    EXPECT_FALSE(std::abs(chain(table, 5, limit + 2e-4)) < 1.5) << key;
  }
}

// The bands of singular values after the chain, for x in [.01, 1].
TEST(QuinticTable, ChainsEndInTheirKnownBands) {
  struct Band {
    const char* name;
    int64_t steps;
    double low, high;
  };
  for (const auto& [name, steps, low, high] : {Band{"kj5", 5, .682, 1.134},
                                               {"you5", 5, .978, 1.032},
                                               {"pe5_gns", 5, .846, 1.124},
                                               {"cans5", 5, .884, 1.120},
                                               {"aol4", 4, .941, 1.050},
                                               {"dsv4_10", 10, .9999, 1.001}}) {
    double smallest = 2, largest = 0;
    for (int i = 0; i <= 20000; ++i) {
      const double y = chain(quintic_table(name), steps, .01 + .99 * i / 20000);
      smallest = std::min(smallest, y);
      largest = std::max(largest, y);
    }
    EXPECT_NEAR(smallest, low, 1e-3) << name;
    EXPECT_NEAR(largest, high, 1e-3) << name;
  }
}

TEST(QuinticTable, EveryChainKeepsTheSignOfEverySingularValue) {
  for (const std::string& name : quintic_table_names()) {
    const auto& table = quintic_table(name);
    const auto length = static_cast<int64_t>(table.size());
    for (int64_t steps = length; steps < length + 4; ++steps) {
      for (double x = 1; x > 1e-9; x *= 0.999)
        ASSERT_GT(chain(table, steps, x), 0) << name << " " << steps << " steps at " << x;
    }
  }
}

// Emerging-Optimizers' "aol": p(1) = -.994 and negative above .8837, an ascent along the dominant
// direction that measures of orthogonality do not see. It is no table of ours.
TEST(QuinticTable, TheEarlierTableOfAolFlipsASign) {
  EXPECT_NEAR(chain(flipping_aol(), 4, 1), -.9935, 1e-4);
  EXPECT_LT(chain(flipping_aol(), 4, .89), 0);
  EXPECT_THROW(quintic_table("aol4_old"), Error);
}

TEST(QuinticTable, UnknownNamesAreRefusedWithTheKnownOnes) {
  try {
    quintic_table("kj6");
    FAIL();
  } catch (const Error& error) {
    for (const std::string& name : quintic_table_names())
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
  }
}

TEST(Quintic, ALongerChainRepeatsTheLastStep) {
  const auto& table = quintic_table("aol4");
  EXPECT_EQ(quintic(table, 3).a, 2.4231);
  EXPECT_EQ(quintic(table, 4).a, 2.4231);
  EXPECT_EQ(quintic(table, 40).c, 0.8193);
}

TEST(PolarExpress, ReproducesThePublishedTables) {
  struct Set {
    const char* key;
    int64_t steps;
    double safety, cushion;
  };
  const Json generated = golden().at("generated");
  for (const auto& [key, steps, safety, cushion] :
       {Set{"pe(l=1e-3,iters=10,safety=1e-2,cushion=0.02) official repo", 10, 1e-2, .02},
        {"pe(l=1e-3,iters=5,safety=2e-2,cushion=0.02) == modded/dion/nanochat table", 5, 2e-2, .02},
        {"pe(l=1e-3,iters=8,safety=0,cushion=0.02407327424182761) == paper table", 8, 0,
         0.02407327424182761}}) {
    const auto table = polar_express_quintics(1e-3, steps, safety, cushion);
    const auto& expected = generated.at(key).as_array();
    ASSERT_EQ(expected.size(), table.size());
    for (int64_t k = 0; k < steps; ++k) {
      const auto& triple = expected[k].as_array();
      // From the seventh step of a chain on, the interval is so short (a ten-thousandth) that the
      // best quintic and its neighbours differ by rounding alone.
      const double tolerance = k < 6 ? 1e-11 : 1e-5;
      expect_relative(table[k].a, json_number(triple[0], key), tolerance, key);
      expect_relative(table[k].b, json_number(triple[1], key), tolerance, key);
      expect_relative(table[k].c, json_number(triple[2], key), tolerance, key);
    }
  }
}

TEST(PolarExpress, BringsItsIntervalWithinEverSmallerDistanceOfOne) {
  for (const double lower : {1e-4, 1e-3, 1e-2, .1, .5, .9}) {
    double before = 1;
    for (int64_t steps = 1; steps <= 8; ++steps) {
      const auto table = polar_express_quintics(lower, steps, 0, 1e-3);
      double distance = 0;
      for (int i = 0; i <= 1000; ++i)
        distance =
            std::max(distance, std::abs(chain(table, steps, std::pow(lower, i / 1000.)) - 1));
      EXPECT_LE(distance, before) << lower << " " << steps;
      before = std::max(distance, 1e-14);
    }
    EXPECT_LE(before, 1e-3) << lower;
  }
}

TEST(PolarExpress, SafetyMakesRoundingAboveOneHarmless) {
  // Without it, 1.002 explodes: dion#55, dion#76, Emerging-Optimizers#228.
  EXPECT_GT(std::abs(chain(polar_express_quintics(1e-3, 5, 0, 0.02), 5, 1.01)), 1e3);
  EXPECT_LT(std::abs(chain(polar_express_quintics(1e-3, 5, 0.02, 0.02), 5, 1.02)), 1.2);
}

TEST(PolarExpress, ImpossibleSettingsAreRefused) {
  EXPECT_THROW(polar_express_quintics(0, 5, 0, .02), Error);
  EXPECT_THROW(polar_express_quintics(1, 5, 0, .02), Error);
  EXPECT_THROW(polar_express_quintics(NAN, 5, 0, .02), Error);
  EXPECT_THROW(polar_express_quintics(1e-3, 0, 0, .02), Error);
  EXPECT_THROW(polar_express_quintics(1e-3, 5, -1, .02), Error);
  EXPECT_THROW(polar_express_quintics(1e-3, 5, 0, 0), Error);
}

// How badly conditioned Gram Newton-Schulz is when X X^T is formed anew before the step `restart`
// (0: never): max over steps k and singular values s of |q_k(s)| / min |q_k|, with q_k the product
// of the step polynomials since the restart, and the eigenvalues s^2 lowered by 4e-4 there, as fp16
// rounds (the metric of Dao-AILab/gram-newton-schulz).
double restart_condition(const std::vector<Quintic>& table, int64_t steps, int64_t restart) {
  constexpr int kPoints = 10000;
  constexpr double kRounding = 4e-4;
  std::vector<double> x(kPoints), eigenvalue(kPoints), q(kPoints);
  for (int i = 0; i < kPoints; ++i) x[i] = std::pow(10, -10 + 10. * i / (kPoints - 1));
  double worst = 0;
  for (int64_t k = 0; k < steps; ++k) {
    const Quintic& p = quintic(table, k);
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;
    for (int i = 0; i < kPoints; ++i) {
      if (k == 0 || k == restart) {
        if (k > 0) x[i] *= q[i];
        eigenvalue[i] = x[i] * x[i] - kRounding;
        q[i] = 1;
      }
      const double r = eigenvalue[i], factor = p.a + r * (p.b + r * p.c);
      q[i] *= factor;
      eigenvalue[i] *= factor * factor;
      smallest = std::min(smallest, std::abs(q[i]));
      largest = std::max(largest, std::abs(q[i]));
    }
    worst = std::max(worst, largest / smallest);
  }
  return worst;
}

// Why "gram_newton_schulz" restarts before step 2 unless told otherwise.
TEST(GramRestart, TheBestOneOfEachTableIsTheGoldenOne) {
  const Json all = read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/gns_restart.json");
  for (const char* name : {"you5", "pe5_gns", "kj5"}) {
    const auto& table = quintic_table(name);
    const Json& expected = all.at(name);
    // Without a restart the smallest |q| is a cancellation: five digits.
    expect_relative(restart_condition(table, 5, 0), json_number(expected.at("none"), name), 1e-5,
                    name);
    int64_t best = 1;
    for (int64_t k = 1; k <= 4; ++k) {
      const std::string key = "[" + std::to_string(k) + "]";
      const double condition = restart_condition(table, 5, k);
      expect_relative(condition, json_number(expected.at(key), name), 1e-8, name + key);
      if (condition < restart_condition(table, 5, best)) best = k;
    }
    EXPECT_EQ(best, expected.at("best").as_array()[0].as_int64()) << name;
  }
}

}  // namespace
}  // namespace draftlab
