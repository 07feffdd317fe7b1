// What one number, and two that may disagree, decide.
#include "reports/decision/pillar.h"

#include <gmock/gmock.h>

#include <cmath>

namespace draftlab {
namespace {

PillarNumber number(double value, double low, double high, int64_t n = 3) {
  return {"", value, low, high, n};
}

TEST(Judgement, IsForOrAgainstWhereTheWholeIntervalLiesBeyondTheThreshold) {
  const struct {
    double low, high;
    Verdict above_is_for;
  } cases[] = {{1.001, 1.2, Verdict::kFor},       {1, 1.2, Verdict::kUndecided},
               {0.999, 1.2, Verdict::kUndecided}, {0.8, 1.001, Verdict::kUndecided},
               {0.8, 1, Verdict::kUndecided},     {0.8, 0.999, Verdict::kAgainst}};
  for (const auto& each : cases) {
    const double middle = (each.low + each.high) / 2;
    EXPECT_EQ(judge(number(middle, each.low, each.high), 1, true).verdict, each.above_is_for)
        << each.low << " to " << each.high;
    const Verdict turned = each.above_is_for == Verdict::kFor       ? Verdict::kAgainst
                           : each.above_is_for == Verdict::kAgainst ? Verdict::kFor
                                                                    : Verdict::kUndecided;
    EXPECT_EQ(judge(number(middle, each.low, each.high), 1, false).verdict, turned);
  }
}

TEST(Judgement, TwoSeedsDecideNothing) {
  EXPECT_EQ(judge(number(2, 1.9, 2.1, 3), 1, true).verdict, Verdict::kFor);
  const Judgement two = judge(number(2, 1.9, 2.1, 2), 1, true);
  EXPECT_EQ(two.verdict, Verdict::kUndecided);
  EXPECT_LE(two.margin, 1);
}

TEST(Judgement, NeedsANumberWithAnInterval) {
  EXPECT_EQ(judge(number(NAN, 1.9, 2.1), 1, true).verdict, Verdict::kUndecided);
  EXPECT_EQ(judge(number(2, NAN, NAN), 1, true).verdict, Verdict::kUndecided);
  EXPECT_TRUE(std::isnan(judge(number(2, NAN, NAN), 1, true).margin));
}

TEST(Judgement, ItsMarginIsCountedFromTheEndOfTheIntervalThatLiesNearer) {
  EXPECT_DOUBLE_EQ(judge(number(2, 1.5, 4), 1, true).margin, 2);
  EXPECT_DOUBLE_EQ(judge(number(0.5, 0.1, 0.75), 1, true).margin, 2);
  EXPECT_DOUBLE_EQ(judge(number(2, 0, 4), 1, true).margin, 0.5);
}

TEST(Judgement, ALossThatSaysTheOppositeLeavesItOpen) {
  const Judgement yes{Verdict::kFor, 3}, no{Verdict::kAgainst, 2}, open{Verdict::kUndecided, 0.5};
  EXPECT_EQ(judge_both(yes, no).verdict, Verdict::kUndecided);
  EXPECT_EQ(judge_both(no, yes).verdict, Verdict::kUndecided);
  EXPECT_LE(judge_both(yes, no).margin, 1);
  EXPECT_EQ(judge_both(yes, yes).verdict, Verdict::kFor);
  EXPECT_EQ(judge_both(no, no).verdict, Verdict::kAgainst);
  EXPECT_EQ(judge_both(yes, open).verdict, Verdict::kFor) << "acceptance length decides";
  EXPECT_EQ(judge_both(open, yes).verdict, Verdict::kUndecided);
  EXPECT_EQ(judge_both(yes, open).margin, 3);
}

}  // namespace
}  // namespace draftlab
