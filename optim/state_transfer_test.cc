#include "optim/state_transfer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "testing/every_configuration.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

struct Arm {
  explicit Arm(const std::string& text) : config(config_of(text)), table(small_table(config)) {}
  OptimizerConfig config;
  std::vector<Route> table;
};

// The state after `steps` gradients; `weights` are left where that led.
NamedTensors trained(const Arm& setup, NamedTensors& weights, uint64_t steps) {
  Optimizer optimizer(setup.config, setup.table, weights);
  for (uint64_t t = 0; t < steps; ++t) optimizer.step(random_tensors(10 + t), 1);
  return copy_of(optimizer.state());
}

Transfer transfer(const NamedTensors& state, const Arm& from, const Arm& to) {
  return transfer_state(state, from.config, from.table, to.config, to.table);
}

std::map<std::string, TransferRow> by_buffer(const Transfer& transfer) {
  std::map<std::string, TransferRow> rows;
  for (const TransferRow& row : transfer.rows) rows[row.tensor + "/" + row.buffer] = row;
  return rows;
}

// A gradient with entries that are tiny where the history's were not.
NamedTensors spiky() {
  NamedTensors gradients = random_tensors(99);
  for (auto& [name, tensor] : gradients) tensor.view(-1).slice(0, 0, tensor.numel(), 3).mul_(1e-8);
  return gradients;
}

double largest_move(const NamedTensors& before, const NamedTensors& after,
                    const std::vector<Route>& table) {
  double largest = 0;
  for (const Route& route : table) {
    double rate = 0;
    for (const double each : route.learning_rates) rate = std::max(rate, each);
    largest = std::max(
        largest, (after.at(route.name) - before.at(route.name)).abs().max().item<double>() / rate);
  }
  return largest;
}

const std::vector<std::string>& kinds() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> texts = {
        R"({"kind": "adamw", "beta1": 0.8, "beta2": 0.9, "weight_decay": 0})",
        R"({"kind": "muon", "shadow_beta2": 0.95})",
        R"({"kind": "muon", "convention": "moonlight", "shadow_beta2": 0.999, "weight_decay": 0})",
        R"({"kind": "normuon", "convention": "modded_nanogpt", "weight_decay": 0})",
        R"({"kind": "adamw", "hyperball": true})",
        R"({"kind": "muon", "hyperball": true})",
        R"({"kind": "soap", "hyperball": true})"};
    for (const OptimizerKind& kind : optimizer_kinds())
      texts.push_back(R"({"kind": ")" + kind.name + R"(", "weight_decay": 0})");
    return texts;
  }();
  return all;
}

TEST(StateTransfer, BetweenAnyTwoRulesTheFirstUpdatesAreBounded) {
  for (const std::string& from_text : kinds()) {
    const Arm from(from_text);
    NamedTensors start = random_tensors(1);
    const NamedTensors state = trained(from, start, 12);
    for (const std::string& to_text : kinds()) {
      SCOPED_TRACE(from_text + " to " + to_text);
      const Arm to(to_text);
      const Transfer moved = transfer(state, from, to);
      const NamedTensors weights = copy_of(start);
      Optimizer optimizer(to.config, to.table, weights);
      optimizer.load_state(moved.state);  // throws unless it is a state of that optimizer
      for (int t = 0; t < 2; ++t) {       // SOAP's first one only looks
        const NamedTensors before = copy_of(weights);
        optimizer.step(spiky(), 1);
        EXPECT_LE(largest_move(before, weights, to.table), 12);
      }
      // Every buffer has its row, and what was not taken over is said to be dropped.
      const auto rows = by_buffer(moved);
      EXPECT_EQ(rows.size(), moved.rows.size());
      for (const auto& [name, tensor] : moved.state) {
        ASSERT_TRUE(rows.contains(name)) << name;
        const std::string fate = rows.at(name).fate;
        EXPECT_TRUE(fate == "carried" || fate == "converted" || fate == "reset") << name;
        if (fate == "carried") {
          bool found = false;
          for (const auto& [other, old] : state)
            found = found || (old.dtype() == tensor.dtype() && at::equal(old, tensor));
          EXPECT_TRUE(found) << name;
        }
        if (fate == "reset") {
          EXPECT_EQ(tensor.abs().max().item<double>(), 0) << name;
        }
      }
      for (const auto& [name, row] : rows)
        EXPECT_EQ(row.fate == "dropped", !moved.state.contains(name)) << name;
    }
  }
}

TEST(StateTransfer, AKeptMeanGradientOverAFreshMeanSquareWouldHaveNoBound) {
  // What transfer_state avoids.
  const Arm muon(R"({"kind": "muon"})"), adamw(R"({"kind": "adamw", "weight_decay": 0})");
  NamedTensors start = random_tensors(1);
  const NamedTensors state = trained(muon, start, 12);
  NamedTensors naive = copy_of(transfer(state, muon, adamw).state);
  naive.at("fc.weight/exp_avg").copy_(state.at("fc.weight/momentum"));
  naive.at("fc.weight/exp_avg_steps").fill_(12);
  const NamedTensors weights = copy_of(start);
  Optimizer optimizer(adamw.config, adamw.table, weights);
  optimizer.load_state(naive);
  optimizer.step(spiky(), 1);
  EXPECT_GT(largest_move(start, weights, adamw.table), 1e3);
}

TEST(StateTransfer, TheSameOptimizerGoesOnWithTheSameBits) {
  for (const std::string& text : every_configuration()) {
    const Arm setup(text);
    NamedTensors weights = random_tensors(1);
    const NamedTensors state = trained(setup, weights, 3);
    const Transfer moved = transfer(state, setup, setup);
    EXPECT_TRUE(same_bits(moved.state, state)) << text;
    for (const TransferRow& row : moved.rows) EXPECT_EQ(row.fate, "carried") << text << row.buffer;
  }
}

TEST(StateTransfer, AShadowMakesTheStateThatAdamWWouldHaveHad) {
  // The same decay rates, so that both optimizers average the same gradients in the same way.
  const Arm muon(R"({"kind": "muon", "momentum": 0.9, "shadow_beta2": 0.95})"),
      sum(R"({"kind": "muon", "momentum": 0.9, "momentum_form": "accumulate", "shadow_beta2": 0.95})"),
      adamw(R"({"kind": "adamw", "beta2": 0.95})");
  NamedTensors a = random_tensors(1), b = copy_of(a), c = copy_of(a);
  const NamedTensors expected = trained(adamw, a, 7);
  for (const Arm* from : {&muon, &sum}) {
    NamedTensors weights = random_tensors(1);
    const Transfer moved = transfer(trained(*from, weights, 7), *from, adamw);
    for (const auto& [name, tensor] : expected) {
      if (name.starts_with("norm")) continue;  // Muon's partner has its own decay rates
      EXPECT_LE((moved.state.at(name) - tensor).abs().max().item<double>(), 1e-14) << name;
    }
    const auto rows = by_buffer(moved);
    EXPECT_EQ(rows.at("fc.weight/exp_avg_sq").fate, "carried");
    EXPECT_EQ(rows.at("fc.weight/exp_avg").fate, from == &muon ? "carried" : "converted");
  }
}

TEST(StateTransfer, TheMeanGradientIsCarriedWithTheFactorOfTheForm) {
  const Arm adamw(R"({"kind": "adamw"})"), lerp(R"({"kind": "muon"})"),
      sum(R"({"kind": "muon", "momentum_form": "accumulate"})"), lion(R"({"kind": "lion"})"),
      soap(R"({"kind": "soap"})");
  NamedTensors weights = random_tensors(1);
  const at::Tensor m = trained(adamw, weights, 5).at("fc.weight/exp_avg");
  const NamedTensors state = [&] {
    NamedTensors again = random_tensors(1);
    return trained(adamw, again, 5);
  }();
  EXPECT_TRUE(at::equal(transfer(state, adamw, lerp).state.at("fc.weight/momentum"), m));
  EXPECT_TRUE(at::equal(transfer(state, adamw, lion).state.at("fc.weight/exp_avg"), m));
  const Transfer summed = transfer(state, adamw, sum);
  EXPECT_LE(relative_distance(0.05 * summed.state.at("fc.weight/momentum_sum"), m), 1e-14);
  EXPECT_EQ(by_buffer(summed).at("fc.weight/momentum_sum").how, "exp_avg / (1 - momentum)");
  EXPECT_EQ(summed.state.at("fc.weight/momentum_steps").item<int64_t>(), 5);
  EXPECT_LE(relative_distance(transfer(summed.state, sum, lerp).state.at("fc.weight/momentum"), m),
            1e-14);
  NamedTensors other = random_tensors(1);
  const NamedTensors of_soap = trained(soap, other, 5);
  EXPECT_TRUE(at::equal(transfer(of_soap, soap, lerp).state.at("fc.weight/momentum"),
                        of_soap.at("fc.weight/exp_avg")));
}

TEST(StateTransfer, TheOtherFormOfMomentumMakesTheSameUpdates) {
  const Arm lerp(R"({"kind": "muon", "learning_rate": 0.1})"),
      sum(R"({"kind": "muon", "learning_rate": 0.1, "momentum_form": "accumulate"})");
  NamedTensors a = random_tensors(1);
  const NamedTensors state = trained(lerp, a, 3);
  const NamedTensors b = copy_of(a), c = copy_of(a);
  const Transfer there = transfer(state, lerp, sum), back = transfer(there.state, sum, lerp);
  Optimizer first(lerp.config, lerp.table, a), second(sum.config, sum.table, b),
      third(lerp.config, lerp.table, c);
  first.load_state(state);
  second.load_state(there.state);
  third.load_state(back.state);
  for (uint64_t t = 3; t < 5; ++t) {
    for (Optimizer* each : {&first, &second, &third}) each->step(random_tensors(10 + t), 1);
  }
  for (const auto& [name, tensor] : a) {
    EXPECT_LE(relative_distance(b.at(name), tensor), 1e-10) << name;
    EXPECT_LE(relative_distance(c.at(name), tensor), 1e-10) << name;
  }
}

TEST(StateTransfer, WithoutAMeanSquareBothMomentsAreReset) {
  const Arm adamw(R"({"kind": "adamw"})"), soap(R"({"kind": "soap"})");
  for (const char* text : {R"({"kind": "muon"})", R"({"kind": "lion"})", R"({"kind": "soap"})"}) {
    const Arm from(text);
    NamedTensors weights = random_tensors(1);
    const Transfer moved = transfer(trained(from, weights, 5), from, adamw);
    for (const char* buffer : {"exp_avg", "exp_avg_sq", "exp_avg_steps", "exp_avg_sq_steps"}) {
      const std::string name = std::string("fc.weight/") + buffer;
      EXPECT_EQ(moved.state.at(name).abs().max().item<double>(), 0) << text << name;
      EXPECT_EQ(by_buffer(moved).at(name).fate, "reset");
    }
  }
  NamedTensors weights = random_tensors(1);
  const Transfer into_soap = transfer(trained(adamw, weights, 5), adamw, soap);
  EXPECT_EQ(by_buffer(into_soap).at("fc.weight/exp_avg").fate, "reset");
  EXPECT_EQ(by_buffer(into_soap).at("fc.weight/exp_avg_sq").fate, "dropped");
}

TEST(StateTransfer, AShadowThatIsYoungerThanTheMomentumIsNotTrusted) {
  const Arm plain(R"({"kind": "muon"})"), shadowed(R"({"kind": "muon", "shadow_beta2": 0.95})"),
      brief(R"({"kind": "muon", "shadow_beta2": 0.5})"), adamw(R"({"kind": "adamw"})");
  NamedTensors weights = random_tensors(1);
  Transfer moved = transfer(trained(plain, weights, 50), plain, shadowed);
  EXPECT_EQ(by_buffer(moved).at("fc.weight/momentum").fate, "carried");
  EXPECT_EQ(by_buffer(moved).at("fc.weight/exp_avg_sq").fate, "reset");
  const auto continued = [&](uint64_t steps) {
    const NamedTensors copies = copy_of(weights);
    Optimizer optimizer(shadowed.config, shadowed.table, copies);
    optimizer.load_state(moved.state);
    for (uint64_t t = 0; t < steps; ++t) optimizer.step(random_tensors(70 + t), 1);
    return by_buffer(transfer(optimizer.state(), shadowed, adamw)).at("fc.weight/exp_avg").fate;
  };
  EXPECT_EQ(continued(10), "reset");       // .95^10 of the momentum is older than the shadow
  EXPECT_EQ(continued(95), "converted");   // less than a hundredth
  NamedTensors other = random_tensors(1);  // forgets faster than the momentum
  const Transfer forgetful = transfer(trained(brief, other, 50), brief, adamw);
  EXPECT_EQ(by_buffer(forgetful).at("fc.weight/exp_avg").fate, "reset");
}

TEST(StateTransfer, YoungAveragesKeepTheirSizeUnderAnotherDecayRate) {
  const Arm from(R"({"kind": "adamw", "beta1": 0.9, "beta2": 0.95})"),
      to(R"({"kind": "adamw", "beta1": 0.99, "beta2": 0.999})");
  NamedTensors weights = random_tensors(1);
  const NamedTensors state = trained(from, weights, 3), moved = transfer(state, from, to).state;
  const auto corrected = [](const NamedTensors& of, const char* buffer, double beta) {
    return of.at(std::string("fc.weight/") + buffer) / (1 - std::pow(beta, 3));
  };
  EXPECT_LE(relative_distance(corrected(moved, "exp_avg", 0.99), corrected(state, "exp_avg", 0.9)),
            1e-12);
  EXPECT_LE(relative_distance(corrected(moved, "exp_avg_sq", 0.999),
                              corrected(state, "exp_avg_sq", 0.95)),
            1e-12);
  EXPECT_EQ(moved.at("fc.weight/exp_avg_sq_steps").item<int64_t>(), 3);
}

TEST(StateTransfer, AdamMiniTakesTheMeansOfItsBlocksAndGivesThemBack) {
  const Arm adamw(R"({"kind": "adamw"})"), mini(R"({"kind": "adam_mini"})");
  NamedTensors weights = random_tensors(1);
  const NamedTensors state = trained(adamw, weights, 3);
  const Transfer there = transfer(state, adamw, mini), back = transfer(there.state, mini, adamw);
  const at::Tensor means = state.at("fc.weight/exp_avg_sq").mean(1);
  EXPECT_LE(relative_distance(there.state.at("fc.weight/exp_avg_sq"), means), 1e-14);
  EXPECT_LE(
      relative_distance(back.state.at("fc.weight/exp_avg_sq"), means.view({6, 1}).expand({6, 4})),
      1e-14);
  EXPECT_EQ(there.state.at("layers.1.qkv.weight/exp_avg_sq").numel(), 3);  // blocks of the split
}

TEST(StateTransfer, TheNormThatHyperballKeepsGoesFromRuleToRule) {
  const Arm plain(R"({"kind": "muon"})"), muon(R"({"kind": "muon", "hyperball": true})"),
      adam(R"({"kind": "adamw", "hyperball": true})");
  const std::string radius = "fc.weight/radius";
  NamedTensors weights = random_tensors(1);
  const NamedTensors start = copy_of(weights), state = trained(adam, weights, 5);
  EXPECT_LE(relative_distance(state.at(radius), start.at("fc.weight").norm().view({1})), 1e-14);
  const Transfer carried = transfer(state, adam, muon);
  EXPECT_EQ(by_buffer(carried).at(radius).fate, "carried");
  EXPECT_TRUE(at::equal(carried.state.at(radius), state.at(radius)));
  const Transfer freed = transfer(carried.state, muon, plain);
  EXPECT_EQ(by_buffer(freed).at(radius).fate, "dropped");
  EXPECT_EQ(by_buffer(freed).at(radius).how, "the norm is free from here on");

  // In mid-run the norm at the switch becomes the radius, not that of the initial weights.
  NamedTensors moved = random_tensors(1);
  const NamedTensors before = trained(plain, moved, 5);
  const Transfer there = transfer(before, plain, muon);
  EXPECT_EQ(by_buffer(there).at(radius).fate, "reset");
  EXPECT_THAT(by_buffer(there).at(radius).how, HasSubstr("the norm at the switch"));
  EXPECT_EQ(by_buffer(there).at("fc.weight/momentum").fate, "carried");
  const at::Tensor norm = moved.at("fc.weight").norm();
  EXPECT_GT(std::abs(norm.item<double>() / start.at("fc.weight").norm().item<double>() - 1), 1e-3);
  Optimizer optimizer(muon.config, muon.table, moved);
  optimizer.load_state(there.state);
  optimizer.step(random_tensors(50), 1);
  EXPECT_LE(relative_distance(optimizer.state().at(radius), norm.view({1})), 1e-14);
  EXPECT_LE(relative_distance(moved.at("fc.weight").norm(), norm), 1e-9);

  // Other blocks have other norms.
  Arm split = muon;
  split.table = route(small_drafter(), muon.config, {{"fc.*", 0, 0, "matrix", {4, 2}}}, "");
  EXPECT_EQ(by_buffer(transfer(carried.state, muon, split)).at(radius).fate, "reset");
}

TEST(StateTransfer, FrozenTensorsLoseTheirStateAndGetAFreshOne) {
  const Arm muon(R"({"kind": "muon"})");
  Arm frozen = muon;
  frozen.table = route(small_drafter(), muon.config, {{"fc.*", 0, 0, "frozen"}}, "");
  NamedTensors weights = random_tensors(1);
  const NamedTensors state = trained(muon, weights, 3);
  const Transfer without = transfer(state, muon, frozen);
  EXPECT_EQ(by_buffer(without).at("fc.weight/momentum").fate, "dropped");
  const Transfer again = transfer(without.state, frozen, muon);
  EXPECT_EQ(by_buffer(again).at("fc.weight/momentum").fate, "reset");
  EXPECT_EQ(again.state.at("fc.weight/momentum").scalar_type(), at::kDouble);
}

TEST(StateTransfer, ResetIsTheStateOfANewOptimizer) {
  const Arm muon(R"({"kind": "muon"})"), adamw(R"({"kind": "adamw"})");
  NamedTensors weights = random_tensors(1);
  const NamedTensors state = trained(muon, weights, 3);
  for (const Arm* to : {&muon, &adamw}) {
    const Transfer fresh = reset_state(state, to->config, to->table);
    EXPECT_TRUE(
        same_bits(fresh.state, Optimizer(to->config, to->table, random_tensors(1)).state()));
    for (const TransferRow& row : fresh.rows)
      EXPECT_TRUE(row.fate == "reset" || row.fate == "dropped") << row.fate;
  }
}

TEST(StateTransfer, RefusesAStateOfAnotherOptimizer) {
  const Arm muon(R"({"kind": "muon"})"), adamw(R"({"kind": "adamw"})");
  NamedTensors weights = random_tensors(1);
  const NamedTensors state = trained(muon, weights, 1);
  EXPECT_THAT(error_of([&] { transfer(state, adamw, muon); }),
              HasSubstr("fc.weight/exp_avg: is missing"));
}

}  // namespace
}  // namespace draftlab
