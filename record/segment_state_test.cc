#include "record/segment_state.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/file.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SegmentStateTest : public ::testing::Test {
 protected:
  void SetUp() override { make_folder(folder_.root()); }
  void TearDown() override { fs::remove_all(folder_.root()); }

  void log_steps(int64_t last) {
    MetricsLog log(folder_.metrics(), 0);
    for (int64_t step = 41; step <= last; ++step) {
      StepRow row;
      row.step = step;
      log.add(row);
    }
    log.flush();
  }
  void end(OutcomeKind kind, int64_t step) {
    write_outcome(folder_.outcome(), {.kind = kind, .step = step});
  }
  SegmentState state() const { return read_segment_state(folder_, 40); }

  SegmentFolder folder_{fs::temp_directory_path() /
                        ("draftlab_segment_state_test_" + std::to_string(::getpid()))};
};

TEST_F(SegmentStateTest, WaitsAtItsFirstStepUntilAWorkerIsGivenIt) {
  EXPECT_FALSE(state().started);
  EXPECT_EQ(state().step, 40);
  replace_file(folder_.task(), "{}");
  EXPECT_TRUE(state().started);
  EXPECT_EQ(state().step, 40);
  EXPECT_FALSE(state().outcome);
}

TEST_F(SegmentStateTest, StandsAtTheLastStepLoggedWhileItTrains) {
  log_steps(57);
  EXPECT_TRUE(state().started);
  EXPECT_EQ(state().step, 57);
  EXPECT_EQ(state().metrics.steps.size(), 17u);
}

TEST_F(SegmentStateTest, StandsAtItsOutcomesStepForTheLastOneLoggedWasNeverApplied) {
  log_steps(57);
  for (const OutcomeKind kind :
       {OutcomeKind::kDone, OutcomeKind::kDiverged, OutcomeKind::kInterrupted}) {
    end(kind, 56);
    EXPECT_EQ(state().step, 56) << outcome_name(kind);
  }
}

TEST_F(SegmentStateTest, AFailedWorkerDoesNotKnowItsStep) {
  end(OutcomeKind::kFailed, 0);
  EXPECT_EQ(state().step, 40);
  log_steps(57);
  EXPECT_EQ(state().step, 57);
}

TEST_F(SegmentStateTest, AnOutcomeThatCannotBeReadIsAFailureThatNamesTheFile) {
  EXPECT_EQ(outcome_on_disk(folder_), std::nullopt);
  replace_file(folder_.outcome(), "{");
  const auto outcome = outcome_on_disk(folder_);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, OutcomeKind::kFailed);
  EXPECT_THAT(outcome->reason, HasSubstr("outcome.json"));
}

TEST_F(SegmentStateTest, OneBrokenFileIsNamedAndDoesNotHideTheOther) {
  log_steps(57);
  EXPECT_EQ(state().broken, "");
  replace_file(folder_.outcome(), "{");
  EXPECT_THAT(state().broken, HasSubstr("outcome.json"));
  EXPECT_EQ(state().step, 57);
  end(OutcomeKind::kDone, 80);
  replace_file(folder_.metrics(), "{\n");
  EXPECT_THAT(state().broken, HasSubstr("metrics.jsonl"));
  EXPECT_EQ(state().step, 80);
  EXPECT_TRUE(state().metrics.steps.empty());
}

TEST_F(SegmentStateTest, OnlyDoneAndDivergedAreResults) {
  EXPECT_TRUE(is_result(OutcomeKind::kDone));
  EXPECT_TRUE(is_result(OutcomeKind::kDiverged));
  EXPECT_FALSE(is_result(OutcomeKind::kFailed));
  EXPECT_FALSE(is_result(OutcomeKind::kInterrupted));
}

}  // namespace
}  // namespace draftlab
