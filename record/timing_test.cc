#include "record/timing.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <functional>

#include "base/error.h"
#include "base/file.h"

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

TEST_F(TimingFile, ReadsBackWhatWasWritten) {
  write_timing(file_, timing());
  const Timing back = read_timing(file_).value();
  const Timing wanted = timing();
  ASSERT_EQ(back.steps.size(), wanted.steps.size());
  for (size_t i = 0; i < back.steps.size(); ++i) {
    EXPECT_EQ(back.steps[i].data, wanted.steps[i].data);
    EXPECT_EQ(back.steps[i].forward, wanted.steps[i].forward);
    EXPECT_EQ(back.steps[i].backward, wanted.steps[i].backward);
    EXPECT_EQ(back.steps[i].orthogonalization, wanted.steps[i].orthogonalization);
    EXPECT_EQ(back.steps[i].rest, wanted.steps[i].rest);
  }
  EXPECT_EQ(back.period, wanted.period);
  EXPECT_EQ(back.weight_bytes, wanted.weight_bytes);
  EXPECT_EQ(back.gradient_bytes, wanted.gradient_bytes);
  EXPECT_EQ(back.optimizer_bytes, wanted.optimizer_bytes);
  EXPECT_EQ(back.peak_memory_bytes, wanted.peak_memory_bytes);
  EXPECT_EQ(back.machine, wanted.machine);
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

TEST_F(StepIdentity, IsThatOfTheOtherSeedsRatesStepsAndParents) {
  const SegmentConfig one = config(R"({"kind": "muon", "learning_rate": 0.01})");
  SegmentConfig other =
      config(R"({"kind": "muon", "learning_rate": 0.02, "adamw": {"learning_rate": 0.001}})");
  other.seeds = {4, 5, 6};
  other.parent = "0123456789abcdef";
  other.training.steps = 300;
  other.from_step = 100;
  other.to_step = 200;
  EXPECT_EQ(step_identity(one), step_identity(other));
}

TEST_F(StepIdentity, IsAnotherWhereAStepTakesAnotherTime) {
  const SegmentConfig one = config(R"({"kind": "muon"})");
  EXPECT_NE(step_identity(one), step_identity(config(R"({"kind": "muon", "steps": 3})")));
  EXPECT_NE(step_identity(one), step_identity(config(R"({"kind": "normuon"})")));
  SegmentConfig other = one;
  other.training.threads = 2;
  EXPECT_NE(step_identity(one), step_identity(other));
  other = one;
  other.training.anchors = 1;
  EXPECT_NE(step_identity(one), step_identity(other));
  other = one;
  other.drafter.block_size += 1;
  EXPECT_NE(step_identity(one), step_identity(other));
}

TEST_F(StepIdentity, ThePeriodIsThatOfNewBasesAndRoots) {
  EXPECT_EQ(step_period(config(R"({"kind": "muon"})")), 1);
  EXPECT_EQ(step_period(config(R"({"kind": "soap", "precondition_every": 7})")), 7);
}

}  // namespace
}  // namespace draftlab
