#include "record/timing.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "testing/every_field.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TimingFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("draftlab_timing_test_" + std::to_string(::getpid()));
    make_folder(folder_);
    file_ = folder_ / "timing.json";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Timing timing() {
    Timing timing;
    timing.period = 2;
    timing.steps = {{0.001, 0.1, 0.2, 0.04, 0.01},
                    {0.003, 0.1, 0.2, 0.08, 0.01},
                    {0.001, 0.1, 0.2, 0.04, 0.01},
                    {0.001, 0.3, 0.2, 0.04, 0.01}};
    timing.weight_bytes = 100;
    timing.gradient_bytes = 101;
    timing.optimizer_bytes = 202;
    timing.peak_memory_bytes = 1 << 30;
    timing.machine = {"AVX2", "cpu", "Synthetic 9000", 2, 1};
    return timing;
  }

  // The error for a file that was changed by hand.
  std::string refusal(const std::function<void(JsonObject&)>& change) {
    write_timing(file_, timing());
    Json value = read_json(file_);
    change(value.as_object());
    replace_file(file_, pretty(value));
    try {
      read_timing(file_);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_, file_;
};

TEST_F(TimingFile, EveryFieldReadsBack) {
  Timing timing = numbered(TimingFile::timing());
  timing.period = 2;
  write_timing(file_, timing);
  EXPECT_EQ(field_texts(read_timing(file_).value()), field_texts(timing));
}

TEST_F(TimingFile, IsNothingWhereThereIsNone) { EXPECT_FALSE(read_timing(file_)); }

TEST_F(TimingFile, IsRefusedByKeyWhereItIsBroken) {
  EXPECT_THAT(refusal([](JsonObject& o) { o["speed"] = 1; }), HasSubstr("speed"));
  EXPECT_THAT(refusal([](JsonObject& o) { o.erase("weight_bytes"); }), HasSubstr("weight_bytes"));
  EXPECT_THAT(refusal([](JsonObject& o) { o["schema"] = 9; }), HasSubstr("schema"));
  EXPECT_THAT(refusal([](JsonObject& o) { o["optimizer_bytes"] = -1; }),
              HasSubstr("optimizer_bytes"));
  EXPECT_THAT(refusal([](JsonObject& o) { o["steps"] = JsonArray{}; }), HasSubstr("steps"));
  EXPECT_THAT(refusal([](JsonObject& o) { o["period"] = 0; }), HasSubstr("period"));
  EXPECT_THAT(refusal([](JsonObject& o) { o["period"] = 3; }), HasSubstr("whole periods of 3"));
  EXPECT_THAT(refusal([](JsonObject& o) { o["machine"].as_object().erase("cpu"); }),
              HasSubstr("machine.cpu"));
  for (const Json& seconds : {Json("NaN"), Json(-0.1), Json("Infinity")}) {
    EXPECT_THAT(refusal([&](JsonObject& o) { o["steps"].at(1).at("forward") = seconds; }),
                HasSubstr("steps[1].forward"))
        << seconds;
  }
}

TEST(Timing, ASampleIsTheMeanStepOfAPeriod) {
  Timing timing;
  timing.period = 2;
  timing.steps = {{0, 0, 0, 1, 0}, {0, 0, 0, 9, 0.5}, {0, 0, 0, 1, 0}, {0, 0, 0, 3, 0}};
  const std::vector<StepTimes> samples = timing.samples();
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_DOUBLE_EQ(samples[0].orthogonalization, 5);
  EXPECT_DOUBLE_EQ(samples[0].total(), 5.25);
  EXPECT_DOUBLE_EQ(samples[1].total(), 2);
}

class StepIdentity : public ::testing::Test {
 protected:
  static SegmentConfig config(const std::string& optimizer) {
    SegmentConfig config;
    config.drafter.hidden_size = config.drafter.intermediate_size = 8;
    config.drafter.layer_options["num_attention_heads"] =
        config.drafter.layer_options["num_key_value_heads"] = 2;
    config.drafter.layer_options["head_dim"] = 4;
    config.drafter.layer_types = {"full_attention"};
    config.drafter.block_size = 4;
    config.drafter.num_taps = 1;
    config.training.steps = config.to_step = 100;
    config.optimizer = parse_optimizer_config(parse_json(optimizer, "test"), "test");
    config.routing = route(parameter_shapes(config.drafter), config.optimizer, {}, "test");
    return config;
  }
};

// Every field but those that change numbers and not the work.
TEST_F(StepIdentity, IsAnotherWhereAStepTakesAnotherTimeAndElseTheSame) {
  const SegmentConfig one = config(R"({"kind": "muon", "learning_rate": 0.01})");
  const std::string identity = step_identity(one);
  SegmentConfig walked = one;
  const size_t count = every_field(walked).size();
  size_t same = 0;
  for (size_t i = 0; i < count; ++i) {
    SegmentConfig other = one;
    const Field field = every_field(other)[i];
    const std::set<const void*> ignored = {
        &other.training.steps,
        &other.training.schedule,
        &other.training.warmup,
        &other.training.clip,
        &other.training.gamma,
        &other.training.labels,
        &other.evaluation.stride,
        &other.split.train,
        &other.split.tuning,
        &other.split.held_out,
        &other.split.by,
        &other.seeds.weights,
        &other.seeds.data,
        &other.seeds.noise,
        &other.parent,
        &other.start.state,
        &other.start.rewarmup,
        &other.start.schedule_from,
        &other.from_step,
        &other.to_step,
        &other.optimizer.options.at("learning_rate"),
        &other.optimizer.options.at("adamw").at("learning_rate")};
    const void* place = field.integer  ? static_cast<void*>(field.integer)
                        : field.number ? static_cast<void*>(field.number)
                        : field.text   ? static_cast<void*>(field.text)
                                       : static_cast<void*>(field.json);
    const bool is_rate = std::ranges::any_of(
        other.routing, [&](const Route& route) { return place == route.learning_rates.data(); });
    change(field);
    EXPECT_EQ(step_identity(other) == identity, ignored.contains(place) || is_rate)
        << "field " << field.path;
    same += step_identity(other) == identity;
  }
  EXPECT_GE(same, 21u);
  SegmentConfig unclipped = one;
  unclipped.training.clip = 0;
  EXPECT_NE(step_identity(unclipped), identity);
}

TEST_F(StepIdentity, ThePeriodIsThatOfNewBasesAndRoots) {
  EXPECT_EQ(step_period(config(R"({"kind": "muon"})")), 1);
  EXPECT_EQ(step_period(config(R"({"kind": "soap", "precondition_every": 7})")), 7);
}

}  // namespace
}  // namespace draftlab
