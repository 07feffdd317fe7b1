#include "record/update_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace draftlab {
namespace {

OptimizerConfig optimizer(const std::string& text) {
  return parse_optimizer_config(parse_json(text, "test"), "test");
}

// Of one rows x cols matrix under the optimizer's own rule.
UpdateCost cost(const std::string& text, int64_t rows, int64_t cols,
                const std::vector<RoutingRule>& rules = {}) {
  const OptimizerConfig config = optimizer(text);
  return update_cost(route({{"w.weight", {rows, cols}}}, config, rules, "test"), config);
}

double bytes_per_parameter(const std::string& text, int64_t rows, int64_t cols) {
  return cost(text, rows, cols).state_bytes / static_cast<double>(rows * cols);
}

// Billions of operations, rounded as in published tables.
double gflop(const std::string& text, int64_t rows, int64_t cols) {
  return std::round(cost(text, rows, cols).flop / 1e9);
}

const char kMuon[] = R"({"kind": "muon"})";
const char kTurbo[] = R"({"kind": "turbo_muon"})";
const char kGram[] = R"({"kind": "muon", "orthogonalizer": "gram_newton_schulz"})";

TEST(UpdateCost, ProductsAndOperationsAreThoseOfTheDenseForms) {
  EXPECT_EQ(cost(kMuon, 1024, 4096).products, 15);
  EXPECT_EQ(gflop(kMuon, 1024, 4096), 97);
  EXPECT_EQ(gflop(kMuon, 4096, 1024), 97) << "the short side decides, wherever it is";
  EXPECT_EQ(gflop(kMuon, 1024, 1024), 32);
  EXPECT_EQ(gflop(kMuon, 4096, 14336), 5498);
  EXPECT_EQ(cost(kTurbo, 1024, 4096).products, 12);
  EXPECT_EQ(gflop(kTurbo, 1024, 4096), 77);
  EXPECT_EQ(gflop(kTurbo, 7168, 18432), 18099);
  EXPECT_EQ(cost(kGram, 1024, 4096).products, 18);
  EXPECT_EQ(gflop(kGram, 1024, 4096), 64);
  EXPECT_EQ(gflop(kGram, 5120, 25600), 9127);
  EXPECT_EQ(gflop(kGram, 1024, 1024), 32) << "a square matrix has nothing to gain";
  EXPECT_EQ(cost(R"({"kind": "muon", "orthogonalizer": "dsv4_10"})", 1024, 1024).products, 30);
  const UpdateCost cubic = cost(R"({"kind": "muon", "orthogonalizer": "cubic5"})", 1024, 4096);
  EXPECT_EQ(cubic.products, 10);
  EXPECT_EQ(cubic.flop, 20.0 * 1024 * 1024 * 4096);
  const UpdateCost exact = cost(R"({"kind": "muon", "orthogonalizer": "exact"})", 8, 4);
  EXPECT_EQ(exact.products, 0);
  EXPECT_EQ(exact.flop, 4.0 * 4 * 4 * 8 + 22 * 4 * 4 * 4);
}

TEST(UpdateCost, StateIsCountedInBytesOfAParameter) {
  EXPECT_EQ(bytes_per_parameter(R"({"kind": "adamw"})", 64, 32), 8);
  EXPECT_EQ(bytes_per_parameter(R"({"kind": "lion"})", 64, 32), 4);
  EXPECT_EQ(bytes_per_parameter(kMuon, 64, 32), 4);
  EXPECT_EQ(bytes_per_parameter(kTurbo, 64, 32), 4);
  EXPECT_EQ(bytes_per_parameter(R"({"kind": "adam_mini"})", 64, 32), 4 + 4. / 32);
  EXPECT_EQ(bytes_per_parameter(R"({"kind": "normuon"})", 64, 32), 4 + 4. / 32);
  EXPECT_EQ(bytes_per_parameter(R"({"kind": "soap"})", 64, 64), 24);
  EXPECT_EQ(bytes_per_parameter(R"({"kind": "shampoo"})", 64, 32),
            8 + 8. * (64 * 64 + 32 * 32) / (64 * 32));
  EXPECT_EQ(bytes_per_parameter(R"({"kind": "muon", "shadow_beta2": 0.99})", 64, 32), 8);
  EXPECT_EQ(cost(R"({"kind": "muon", "hyperball": true})", 64, 32).state_bytes, 4 * (64 * 32 + 1));
}

TEST(UpdateCost, StatisticsOfModdedNanogptFollowTheLongSide) {
  const char text[] = R"({"kind": "normuon", "convention": "modded_nanogpt"})";
  EXPECT_EQ(cost(text, 64, 32).state_bytes, 4 * (64 * 32 + 64));
  EXPECT_EQ(cost(text, 32, 64).state_bytes, 4 * (64 * 32 + 64));
}

TEST(UpdateCost, ABlockOfASplitIsAMatrixOfItsOwn) {
  const std::vector<RoutingRule> rules = {{"w.weight", 0, 0, "matrix", {192, 64, 64}}};
  const UpdateCost split = cost(kMuon, 320, 576, rules);
  EXPECT_EQ(split.products, 45);
  EXPECT_EQ(split.flop, cost(kMuon, 192, 576).flop + 2 * cost(kMuon, 64, 576).flop);
  EXPECT_EQ(cost(R"({"kind": "adam_mini"})", 320, 576, rules).state_bytes, 4 * (320 * 576 + 3));
}

TEST(UpdateCost, ASideThatSoapDoesNotRotateCostsNothing) {
  const UpdateCost one = cost(R"({"kind": "soap", "largest_side": 32})", 64, 32);
  const UpdateCost both = cost(R"({"kind": "soap"})", 64, 32);
  EXPECT_EQ(both.products, 8);
  EXPECT_EQ(one.products, 4);
  EXPECT_EQ(one.state_bytes, 8 * (64 * 32 + 32 * 32));
  EXPECT_LT(one.flop, both.flop);
  // Without renewals, 8 m n (m + n).
  const UpdateCost rarely = cost(R"({"kind": "soap", "precondition_every": 1000000})", 64, 32);
  EXPECT_NEAR(rarely.flop, 8. * 64 * 32 * (64 + 32), 2);
  const std::vector<RoutingRule> rules = {{"w.weight", 0, 0, "matrix", {32, 32}}};
  EXPECT_EQ(cost(R"({"kind": "shampoo"})", 64, 32, rules).state_bytes,
            8 * (64 * 32 + 2 * (32 * 32 + 32 * 32)));
}

TEST(UpdateCost, VectorsAndFrozenTensors) {
  const OptimizerConfig muon = optimizer(kMuon);
  const auto table =
      route({{"a.weight", {10}}, {"b.weight", {4, 4}}}, muon, {{"b.*", 0, 0, "frozen"}}, "test");
  EXPECT_EQ(update_cost(table, muon).state_bytes, 80);
  EXPECT_EQ(update_cost(table, muon).products, 0);
  const OptimizerConfig all = optimizer(R"({"kind": "muon_all"})");
  const UpdateCost vector = update_cost(route({{"a.weight", {10}}}, all, {}, "test"), all);
  EXPECT_EQ(vector.state_bytes, 40);
  EXPECT_EQ(vector.products, 0);
}

}  // namespace
}  // namespace draftlab
