#include "train/step_timing.h"

#include <gmock/gmock.h>

#include <map>

#include "base/error.h"
#include "record/timing.h"
#include "testing/example_segments.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

class StepTiming : public ExampleSegments {
 protected:
  // Trains the segment, measures it, and reads what was written.
  Timing time(const SegmentConfig& config) {
    train(config);
    const fs::path folder = root_ / "segments" / segment_id(config);
    EXPECT_TRUE(time_segments({{read_task(SegmentFolder(folder).task()), folder}}, false));
    return read_timing(SegmentFolder(folder).timing()).value();
  }
  static std::map<std::string, std::string> files(const fs::path& folder) {
    std::map<std::string, std::string> bytes;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) bytes[entry.path()] = read_file(entry.path());
    }
    return bytes;
  }
};

TEST_F(StepTiming, WritesTimingJsonAndChangesNoOtherFile) {
  const SegmentConfig segment = config();
  train(segment);
  const fs::path folder = root_ / "segments" / segment_id(segment);
  const auto before = files(folder);
  ASSERT_TRUE(time_segments({{read_task(SegmentFolder(folder).task()), folder}}, false));
  auto after = files(folder);
  EXPECT_EQ(after.erase(SegmentFolder(folder).timing()), 1u);
  EXPECT_EQ(after, before);
}

TEST_F(StepTiming, MeasuresTwentyStepsOfPositiveParts) {
  const Timing timing = time(config());
  EXPECT_EQ(timing.period, 1);
  ASSERT_EQ(timing.steps.size(), 20u);
  for (const StepTimes& step : timing.steps) {
    EXPECT_GT(step.data, 0);
    EXPECT_GT(step.forward, 0);
    EXPECT_GT(step.backward, 0);
    EXPECT_GT(step.orthogonalization, 0);
    EXPECT_GT(step.rest, 0);
  }
  EXPECT_EQ(timing.machine.threads, 1);
}

TEST_F(StepTiming, AdamWOrthogonalizesNothing) {
  for (const StepTimes& step : time(config(R"({"kind": "adamw"})")).steps)
    EXPECT_EQ(step.orthogonalization, 0);
}

TEST_F(StepTiming, CountsBytesOfWeightsGradientsAndState) {
  int64_t parameters = 0;
  for (const ParameterShape& shape : parameter_shapes(config().drafter))
    parameters += shape.count();
  const Timing timing = time(config(R"({"kind": "adamw"})"));
  EXPECT_EQ(timing.weight_bytes, 4 * parameters);
  EXPECT_EQ(timing.gradient_bytes, 4 * parameters);
  EXPECT_GE(timing.optimizer_bytes, 8 * parameters) << "two moments and counters";
  EXPECT_LT(timing.optimizer_bytes, 9 * parameters);
  EXPECT_GT(timing.peak_memory_bytes, timing.weight_bytes + timing.optimizer_bytes);
}

TEST_F(StepTiming, APeriodOfSoapHoldsOneNewBasis) {
  const Timing timing = time(config(R"({"kind": "soap", "precondition_every": 4})"));
  EXPECT_EQ(timing.period, 4);
  ASSERT_EQ(timing.steps.size(), 80u);
  // Most of the time is spent in the one step that makes the bases.
  for (size_t period = 0; period < 20; ++period) {
    double sum = 0, most = 0;
    for (size_t i = 0; i < 4; ++i) {
      const double seconds = timing.steps[4 * period + i].orthogonalization;
      sum += seconds;
      most = std::max(most, seconds);
    }
    EXPECT_GT(most, sum / 2);
  }
}

TEST_F(StepTiming, ASegmentWithAParentIsMeasuredToo) {
  SegmentConfig first = config(R"({"kind": "adamw"})");
  first.to_step = 7;
  ASSERT_EQ(train(first).kind, OutcomeKind::kDone);
  SegmentConfig second = config();
  second.parent = segment_id(first);
  second.from_step = 7;
  EXPECT_EQ(time(second).steps.size(), 20u) << "more steps than the segment has";
}

TEST_F(StepTiming, WritesNothingWhenItIsStopped) {
  const SegmentConfig segment = config(R"({"kind": "lion"})");
  train(segment);
  const fs::path folder = root_ / "segments" / segment_id(segment);
  EXPECT_FALSE(time_segments({{read_task(SegmentFolder(folder).task()), folder}}, true));
  EXPECT_FALSE(fs::exists(SegmentFolder(folder).timing()));
}

TEST_F(StepTiming, SegmentsAreMeasuredInTurnEachAsOftenAsAlone) {
  std::vector<TimedSegment> segments;
  for (const char* optimizer : {R"({"kind": "adamw"})", R"({"kind": "lion"})",
                                R"({"kind": "soap", "precondition_every": 4})"}) {
    const SegmentConfig segment = config(optimizer);
    train(segment);
    const fs::path folder = root_ / "segments" / segment_id(segment);
    segments.push_back({read_task(SegmentFolder(folder).task()), folder});
  }
  ASSERT_TRUE(time_segments(segments, false));
  const size_t steps[] = {20, 20, 80};
  for (size_t i = 0; i < 3; ++i) {
    const Timing timing = read_timing(SegmentFolder(segments[i].folder).timing()).value();
    EXPECT_EQ(timing.steps.size(), steps[i]);
    EXPECT_EQ(timing.in_turn, 3);
    double processor = 0;
    for (const StepTimes& step : timing.steps) processor += step.processor;
    EXPECT_GT(processor, 0);
  }
}

}  // namespace
}  // namespace draftlab
