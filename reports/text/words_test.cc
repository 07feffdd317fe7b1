#include "reports/text/words.h"

#include <gtest/gtest.h>

#include <cmath>

namespace draftlab {
namespace {

TEST(Words, SignsStandInFrontOfAllButWhatRoundsToZero) {
  EXPECT_EQ(signed_text(0.1, 3), "+0.100");
  EXPECT_EQ(signed_text(-0.1, 3), "−0.100");
  EXPECT_EQ(signed_text(-0.0001, 3), "0.000");
  EXPECT_EQ(signed_text(NAN, 3), "NaN");
}

TEST(Words, AnIntervalHasAMinusButNoPlus) {
  EXPECT_EQ(interval_text(-0.5, 1.25, 2), "−0.50 to 1.25");
}

TEST(Words, AWordOfWhichThereIsOneStaysSingular) {
  EXPECT_EQ(counted(1, "seed"), "1 seed");
  EXPECT_EQ(counted(0, "seed"), "0 seeds");
  EXPECT_EQ(counted(15465, "step"), "15,465 steps");
}

TEST(Words, OfMoreThanEightSixAreNamed) {
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(joined({"A"}), "A");
  EXPECT_EQ(joined({"A", "B"}), "A and B");
  EXPECT_EQ(joined({"A", "B", "C", "D", "E", "F", "G", "H"}), "A, B, C, D, E, F, G and H");
  EXPECT_EQ(joined({"A", "B", "C", "D", "E", "F", "G", "H", "I"}), "A, B, C, D, E, F and 3 more");
  EXPECT_EQ(listed({"A", "B"}), "A; B");
}

TEST(Words, SecondsAreAsPreciseAsTheyAreShort) {
  EXPECT_EQ(seconds_text(0.1234), "0.12 s");
  EXPECT_EQ(seconds_text(9.96), "10 s");
  EXPECT_EQ(seconds_text(12.34), "12.3 s");
  EXPECT_EQ(seconds_text(100), "100 s");
  EXPECT_EQ(seconds_text(12345.6), "12,346 s");
  EXPECT_EQ(seconds_text(INFINITY), "Infinity s");
}

TEST(Words, OnlyPlainLettersAreCapitalized) {
  EXPECT_EQ(capitalized("loss"), "Loss");
  EXPECT_EQ(capitalized("Loss"), "Loss");
  EXPECT_EQ(capitalized("5 seeds"), "5 seeds");
  EXPECT_EQ(capitalized(""), "");
}

}  // namespace
}  // namespace draftlab
