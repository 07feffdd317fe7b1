#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "optim/optimizer.h"
#include "record/buffer.h"
#include "record/update_cost.h"
#include "testing/every_configuration.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

// What holds for every kind, convention, orthogonalizer and variant.
class EveryOptimizer : public ::testing::TestWithParam<std::string> {
 protected:
  // Matrices this small only wait for a second thread.
  EveryOptimizer() : threads_(at::get_num_threads()) { at::set_num_threads(1); }
  ~EveryOptimizer() override { at::set_num_threads(threads_); }

  const OptimizerConfig config_ = config_of(GetParam());
  const std::vector<Route> table_ = small_table(config_);

  Optimizer make(const NamedTensors& weights) const { return Optimizer(config_, table_, weights); }
  bool is(const std::string& kind) const { return config_.kind == kind; }

 private:
  const int threads_;
};

INSTANTIATE_TEST_SUITE_P(, EveryOptimizer, ::testing::ValuesIn(every_configuration()),
                         [](const auto& each) { return configuration_name(each.param); });

TEST_P(EveryOptimizer, MovesNothingWhenTheScheduleIsZero) {
  const NamedTensors start = random_tensors(1), weights = copy_of(start);
  Optimizer optimizer = make(weights);
  for (uint64_t t = 0; t < 2; ++t) optimizer.step(random_tensors(2 + t), 0);
  EXPECT_TRUE(same_bits(start, weights));
}

TEST_P(EveryOptimizer, OnlyDecaysWeightsWhoseGradientsWereAlwaysZero) {
  const bool sphere = config_.has("hyperball");  // which takes no decay, and rounds
  const OptimizerConfig config = [&] {
    JsonObject object = to_json(config_);
    object["weight_decay"] = sphere ? 0.0 : 0.3;
    return parse_optimizer_config(object, "test");
  }();
  const std::vector<Route> table = small_table(config);
  const NamedTensors start = random_tensors(1), weights = copy_of(start);
  Optimizer optimizer(config, table, weights);
  NamedTensors zero;
  for (const auto& [name, tensor] : start) zero[name] = at::zeros_like(tensor);
  for (const double schedule : {1.0, 0.5}) optimizer.step(zero, schedule);
  const bool squared = config.has("decay") && config.text("decay") == "cautious_squared";
  for (const Route& route : table) {
    int64_t row = 0;
    for (size_t i = 0; i < route.split.size(); row += route.split[i++]) {
      // deepspeed and others decayed by the rate scaled to the shape; only modded-nanogpt means it.
      const bool partner = route.rule == "adamw" && !is("adamw");
      const double base = partner ? route.learning_rates[i] : config.learning_rate();
      double left = 1;
      for (const double schedule : {1.0, 0.5}) {
        if (is("soap") && !partner && schedule == 1) continue;  // the first step only looks
        const double rate = base * schedule;
        left *= 1 - rate * route.weight_decay *
                        (squared && !partner ? route.learning_rates[i] * schedule : 1);
      }
      const auto block = [&](const NamedTensors& tensors) {
        return tensors.at(route.name).narrow(0, row, route.split[i]);
      };
      EXPECT_LE((block(weights) - block(start) * left).abs().max().item<double>(),
                sphere ? 1e-9 : 1e-15)
          << route.name;
    }
  }
  for (const auto& [name, tensor] : optimizer.state()) {
    if (name.ends_with("_steps") || name.find("_root") != std::string::npos ||
        name.find("_basis") != std::string::npos || name.ends_with("/radius"))
      continue;
    EXPECT_EQ(tensor.abs().max().item<double>(), 0) << name;
  }
}

TEST_P(EveryOptimizer, ContinuesFromSavedStateWithTheSameBits) {
  const NamedTensors weights = random_tensors(1, at::kFloat);
  Optimizer whole = make(weights);
  const NamedTensors eager = copy_of(whole.state());
  for (uint64_t t = 0; t < 3; ++t) whole.step(random_tensors(10 + t, at::kFloat), 1);
  const NamedTensors saved = copy_of(whole.state()), restored = copy_of(weights);
  ASSERT_EQ(eager.size(), saved.size());  // all state is there before the first step
  Optimizer resumed = make(restored);
  resumed.load_state(saved);
  for (uint64_t t = 3; t < 15; ++t) {  // over the refresh of SOAP's and Shampoo's preconditioners
    whole.step(random_tensors(10 + t, at::kFloat), 0.9);
    resumed.step(random_tensors(10 + t, at::kFloat), 0.9);
  }
  EXPECT_TRUE(same_bits(weights, restored));
  EXPECT_TRUE(same_bits(whole.state(), resumed.state()));
}

TEST_P(EveryOptimizer, CountersCountTheGradientsThatAveragesHaveSeen) {
  const NamedTensors weights = random_tensors(1);
  Optimizer optimizer = make(weights);
  for (uint64_t t = 0; t < 3; ++t) optimizer.step(random_tensors(10 + t), 1);
  const NamedTensors state = optimizer.state();
  for (const Route& route : table_) {
    // SOAP's moments do not see the first gradient.
    const int64_t seen = route.rule == "soap" ? 2 : 3;
    for (const Buffer& buffer : buffers(config_, route)) {
      const std::string name = route.name + "/";
      if (!buffer.steps.empty()) {
        EXPECT_EQ(state.at(name + buffer.steps).item<int64_t>(), seen) << name << buffer.steps;
      }
      if (buffer.meaning == Buffer::Meaning::kCounter) {
        EXPECT_EQ(state.at(name + buffer.name).item<int64_t>(), 3) << name << buffer.name;
      }
    }
  }
}

// What the declaration says of a mean gradient is what transfer_state() relies on.
TEST_P(EveryOptimizer, AMeanGradientIsTheAverageThatItsKindDeclares) {
  const NamedTensors weights = random_tensors(1);
  Optimizer optimizer = make(weights);
  std::vector<NamedTensors> gradients;
  for (uint64_t t = 0; t < 4; ++t) {
    gradients.push_back(random_tensors(10 + t));
    optimizer.step(gradients.back(), 1);
  }
  const NamedTensors state = optimizer.state();
  for (const Route& route : table_) {
    for (const Buffer& buffer : buffers(config_, route)) {
      const bool mean = buffer.meaning == Buffer::Meaning::kMeanGradient;
      if (!mean && buffer.meaning != Buffer::Meaning::kMeanSquare) continue;
      const std::string name = route.name + "/" + buffer.name;
      at::Tensor expected = at::zeros(route.shape, at::kDouble);
      for (size_t t = route.rule == "soap" ? 1 : 0; t < gradients.size(); ++t) {
        const at::Tensor& g = gradients[t].at(route.name);
        expected = buffer.beta * expected + (1 - buffer.beta) * (mean ? g : g * g);
      }
      at::Tensor actual = buffer.factor * state.at(name);
      if (!buffer.blocks.empty()) {
        std::vector<at::Tensor> means;
        for (const at::Tensor& block : expected.view(-1).split_with_sizes(buffer.blocks))
          means.push_back(block.mean());
        expected = at::stack(means);
      }
      EXPECT_LE(relative_distance(actual, expected), 1e-12) << name;
    }
  }
}

TEST_P(EveryOptimizer, TwoHalfBatchesAveragedAreOneBatch) {
  // deepspeed#8443: momentum that is updated once a micro-batch.
  const NamedTensors one = random_tensors(1), two = copy_of(one);
  Optimizer whole = make(one), halves = make(two);
  for (uint64_t t = 0; t < 3; ++t) {
    const NamedTensors a = random_tensors(10 + t), b = random_tensors(20 + t);
    NamedTensors mean, sum;
    for (const auto& [name, tensor] : a) {
      mean[name] = (tensor + b.at(name)) / 2;
      sum[name] = tensor / 2 + b.at(name) / 2;
    }
    whole.step(mean, 1);
    halves.step(sum, 1);
  }
  for (const auto& [name, tensor] : one)
    EXPECT_LE(relative_distance(two.at(name), tensor), 1e-9) << name;
}

TEST_P(EveryOptimizer, TheOrderOfTheTableDoesNotMatter) {
  const NamedTensors a = random_tensors(1), b = copy_of(a);
  Optimizer forward = make(a), backward(config_, {table_.rbegin(), table_.rend()}, b);
  for (uint64_t t = 0; t < 2; ++t) {
    forward.step(random_tensors(10 + t), 1);
    backward.step(random_tensors(10 + t), 1);
  }
  EXPECT_TRUE(same_bits(a, b));
  EXPECT_TRUE(same_bits(forward.state(), backward.state()));
}

TEST_P(EveryOptimizer, FollowsAPermutationOfRows) {
  // Of a square gradient of full rank: SOAP's basis is free where an eigenvalue is repeated.
  const at::Tensor order = at::tensor({3, 1, 4, 0, 2}, at::kLong);
  const std::vector<Route> table = route({{"w", {5, 5}}}, config_, {}, "routing");
  at::manual_seed(4);
  const at::Tensor w = at::randn({5, 5}, at::kDouble), permuted = w.index_select(0, order);
  Optimizer one(config_, table, {{"w", w}}), two(config_, table, {{"w", permuted}});
  for (int64_t t = 0; t < 3; ++t) {
    const at::Tensor g = at::randn({5, 5}, at::kDouble);
    one.step({{"w", g}}, 1);
    two.step({{"w", g.index_select(0, order)}}, 1);
  }
  EXPECT_LE(relative_distance(permuted, w.index_select(0, order)), 1e-9);
}

TEST_P(EveryOptimizer, Float32AgreesWithFloat64) {
  const NamedTensors exact = random_tensors(1);
  NamedTensors rounded;
  for (const auto& [name, tensor] : exact) rounded[name] = tensor.to(at::kFloat);
  Optimizer in_double = make(exact), in_float = make(rounded);
  for (uint64_t t = 0; t < 5; ++t) {
    NamedTensors g = random_tensors(10 + t), g32;
    for (const auto& [name, tensor] : g) g32[name] = tensor.to(at::kFloat);
    in_double.step(g, 1);
    in_float.step(g32, 1);
  }
  for (const auto& [name, tensor] : exact) {
    // Eigenvectors of a repeated eigenvalue, the zeros of a rank-deficient L or R, are free.
    if (is("soap") && name.find("square") == std::string::npos && tensor.dim() == 2) continue;
    // The fourth root lifts the rounding of Shampoo's L and R where they are rank-deficient.
    EXPECT_LE(relative_distance(rounded.at(name), tensor), is("shampoo") ? 1e-3 : 1e-4) << name;
  }
}

TEST_P(EveryOptimizer, KeepsFloat32StateForSixteenBitWeightsAndRoundsOnce) {
  // pytorch#194664: with 16-bit gradients the momentum itself was normalized in place.
  const NamedTensors weights = random_tensors(1, at::kBFloat16);
  NamedTensors wide;
  for (const auto& [name, tensor] : weights) wide[name] = tensor.to(at::kFloat);
  Optimizer narrow = make(weights), reference = make(wide);
  for (uint64_t t = 0; t < 3; ++t) {
    const NamedTensors g = random_tensors(10 + t, at::kBFloat16);
    NamedTensors g32;
    for (const auto& [name, tensor] : g) g32[name] = tensor.to(at::kFloat);
    for (const auto& [name, tensor] : weights) wide.at(name).copy_(tensor);
    narrow.step(g, 1);
    reference.step(g32, 1);
    for (const auto& [name, tensor] : wide)
      EXPECT_TRUE(at::equal(weights.at(name), tensor.to(at::kBFloat16))) << name;
  }
  EXPECT_TRUE(same_bits(narrow.state(), reference.state()));
  for (const auto& [name, tensor] : narrow.state())
    EXPECT_EQ(tensor.scalar_type(), name.ends_with("_steps") ? at::kLong : at::kFloat) << name;
}

TEST_P(EveryOptimizer, ThreadsChangeRoundingOnly) {
  const NamedTensors one = random_tensors(1), three = copy_of(one), again = copy_of(one);
  Optimizer alone = make(one), together = make(three), repeated = make(again);
  for (uint64_t t = 0; t < 4; ++t) {
    at::set_num_threads(1);
    alone.step(random_tensors(10 + t), 1);
    at::set_num_threads(3);
    together.step(random_tensors(10 + t), 1);
    repeated.step(random_tensors(10 + t), 1);
  }
  EXPECT_TRUE(same_bits(three, again));
  for (const auto& [name, tensor] : one)
    EXPECT_LE(relative_distance(three.at(name), tensor), 1e-9) << name;
}

TEST_P(EveryOptimizer, MeasuringAStepDoesNotChangeItsBits) {
  const NamedTensors plain = random_tensors(1, at::kFloat), measured = copy_of(plain);
  Optimizer one = make(plain), two = make(measured);
  for (uint64_t t = 0; t < 3; ++t) {
    double seconds = -1;
    one.step(random_tensors(10 + t, at::kFloat), 0.7);
    const auto rows = two.measured_step(random_tensors(10 + t, at::kFloat), 0.7, seconds);
    EXPECT_GE(seconds, 0);
    EXPECT_EQ(rows.size(), small_drafter().size());  // each is a kind of its own
  }
  EXPECT_TRUE(same_bits(plain, measured));
  EXPECT_TRUE(same_bits(one.state(), two.state()));
}

TEST_P(EveryOptimizer, KeepsAsManyBytesOfStateAsPlansSay) {
  const NamedTensors weights = random_tensors(1, at::kFloat);
  int64_t bytes = 0;
  for (const auto& [name, tensor] : make(weights).state())
    if (!name.ends_with("_steps")) bytes += static_cast<int64_t>(tensor.nbytes());
  EXPECT_EQ(static_cast<double>(bytes), update_cost(table_, config_).state_bytes);
}

// Counts what the CPU allocator hands out.
class CountingAllocator : public c10::Allocator {
 public:
  CountingAllocator() : base_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, 100); }
  ~CountingAllocator() override { c10::SetCPUAllocator(base_, 100); }
  c10::DataPtr allocate(size_t bytes) override {
    ++count_;
    size_t seen = largest_;
    while (bytes > seen && !largest_.compare_exchange_weak(seen, bytes)) {
    }
    return base_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return base_->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    base_->copy_data(to, from, bytes);
  }
  int64_t count() const { return count_; }
  size_t largest() const { return largest_; }

 private:
  c10::Allocator* base_;
  std::atomic<int64_t> count_ = 0;
  std::atomic<size_t> largest_ = 0;
};

TEST_P(EveryOptimizer, AllocatesNoMatrixAfterTheFirstStep) {
  if (config_.has("orthogonalizer") && config_.text("orthogonalizer") == "exact")
    GTEST_SKIP() << "the singular value decomposition allocates";
  const std::vector<ParameterShape> shapes = {{"a.weight", {48, 96}},
                                              {"b.weight", {96, 48}},
                                              {"c.weight", {64, 64}},
                                              {"norm.weight", {96}}};
  NamedTensors weights, gradients;
  for (const ParameterShape& p : shapes) {
    weights[p.name] = at::randn(p.shape);
    gradients[p.name] = at::randn(p.shape);
  }
  at::set_num_threads(2);
  Optimizer optimizer(config_, route(shapes, config_, {}, "routing"), weights);
  for (int t = 0; t < 3; ++t) optimizer.step(gradients, 1);
  CountingAllocator allocator;
  optimizer.step(gradients, 1);
  EXPECT_LE(allocator.largest(), 96 * sizeof(float));  // a vector of row norms or the like
  if ((is("adamw") || is("lion") || is("adam_mini")) && !config_.has("hyperball")) {
    EXPECT_EQ(allocator.count(), 0);
  }
}

TEST_P(EveryOptimizer, NamesTheTensorWhoseGradientIsNotANumberOrShowsIt) {
  const NamedTensors start = random_tensors(1, at::kFloat), weights = copy_of(start);
  Optimizer optimizer = make(weights);
  const NamedTensors state = copy_of(optimizer.state());
  NamedTensors g = random_tensors(2, at::kFloat);
  g["fc.weight"][1][2] = NAN;
  if (!optimizer_kind(config_.kind, "test").needs_finite_gradients) {
    optimizer.step(g, 1);
    EXPECT_TRUE(weights.at("fc.weight").isnan().any().item<bool>());
  } else {
    for (const double bad : {double{NAN}, double{INFINITY}}) {
      g["fc.weight"][1][2] = bad;
      EXPECT_THAT(error_of([&] { optimizer.step(g, 1); }),
                  HasSubstr("fc.weight: has NaN or infinity in its gradient"));
    }
    EXPECT_TRUE(same_bits(start, weights));
    EXPECT_TRUE(same_bits(state, optimizer.state()));
  }
}

TEST_P(EveryOptimizer, ReachesAKnownOptimum) {
  // Least squares |W A - B|^2 with A of full rank: the optimum is B A^-1.
  at::manual_seed(6);
  const at::Tensor a = at::eye(12, at::kDouble) + 0.1 * at::randn({12, 12}, at::kDouble);
  const at::Tensor wanted = at::randn({20, 12}, at::kDouble), b = wanted.mm(a);
  at::Tensor w = at::zeros({20, 12}, at::kDouble);
  const bool sphere = config_.has("hyperball");
  if (sphere) w = wanted.norm() * at::ones_like(w) / std::sqrt(240);  // on the optimum's
  JsonObject object = to_json(config_);
  object["weight_decay"] = 0;
  std::vector<Route> table =
      route({{"w", {20, 12}}}, parse_optimizer_config(object, "test"), {}, "");
  // Steps of about .1 an entry: an update of Muon's kinds has a root mean square of 1 / sqrt(20).
  const bool orthogonal = config_.has("orthogonalizer");
  const bool unit = config_.has("scale") && config_.text("scale") == "rms";
  table[0].learning_rates = {sphere ? 0.1 : orthogonal ? 0.1 * std::sqrt(unit ? 240 : 20) : 0.1};
  table[0].weight_decay = 0;
  Optimizer optimizer(config_, table, {{"w", w}});
  for (int64_t t = 0; t < 300; ++t)
    optimizer.step({{"w", (w.mm(a) - b).mm(a.t())}}, 1 - static_cast<double>(t) / 300);
  EXPECT_LE(relative_distance(w, wanted), 1e-2);
}

}  // namespace
}  // namespace draftlab
