#include "reports/study/pause.h"

#include <gmock/gmock.h>

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Steps from 1 on; each `period`-th takes `refresh` seconds, the others 0.1.
std::vector<StepRow> steps(int64_t count, int64_t period = 1, double refresh = 0.1) {
  std::vector<StepRow> rows;
  for (int64_t step = 1; step <= count; ++step) {
    StepRow& row = rows.emplace_back();
    row.step = step;
    row.data_seconds = 0.01;
    row.model_seconds = 0.05;
    row.optimizer_seconds = (step % period == 0 ? refresh : 0.1) - 0.06;
  }
  return rows;
}

MATCHER_P2(PauseAt, step, seconds, "") {
  return arg.step == step && std::abs(arg.seconds - seconds) < 1e-9;
}

TEST(Pause, EachStepOfAnotherOrderOfMagnitudeIsOneWhateverPartOfItWasLong) {
  std::vector<StepRow> rows = steps(20);
  rows[2].data_seconds += 30;
  rows[7].model_seconds += 2;
  rows[9].optimizer_seconds += 400;
  const std::vector<Pause> found = pauses(rows, 1);
  EXPECT_THAT(found, ElementsAre(PauseAt(3, 30.1), PauseAt(8, 2.1), PauseAt(10, 400.1)));
  EXPECT_NEAR(found[0].usual, 0.1, 1e-9);
}

TEST(Pause, LessThanASecondOrTenTimesIsNone) {
  std::vector<StepRow> rows = steps(20);
  rows[2].model_seconds += 0.99;
  EXPECT_THAT(pauses(rows, 1), IsEmpty()) << "ten times, and not a second";
  for (StepRow& row : rows) row.model_seconds = 2;
  rows[2].model_seconds = 19;
  EXPECT_THAT(pauses(rows, 1), IsEmpty()) << "seconds, and not ten times";
}

TEST(Pause, AStepThatComesRoundWithMoreWorkIsNone) {
  std::vector<StepRow> rows = steps(100, 10, 5);
  EXPECT_THAT(pauses(rows, 10), IsEmpty());
  EXPECT_EQ(pauses(rows, 1).size(), 10u) << "which the period tells";
  rows[29].optimizer_seconds += 60;
  EXPECT_THAT(pauses(rows, 10), ElementsAre(PauseAt(30, 65)));
}

TEST(Pause, FewStepsTellNothing) {
  std::vector<StepRow> rows = steps(4);
  rows[2].model_seconds += 30;
  EXPECT_THAT(pauses(rows, 1), IsEmpty());
}

}  // namespace
}  // namespace draftlab
