#include "base/number_text.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>

#include "base/error.h"

namespace draftlab {
namespace {

TEST(NumberText, IsTheShortestThatReadsBack) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(3), "3");
  EXPECT_EQ(number_text(1e-5), "1e-05");
  EXPECT_EQ(number_text(std::nan("")), "NaN");
  EXPECT_EQ(number_text(-INFINITY), "-Infinity");
}

TEST(NumberText, SignificantDigitsRoundAndDropTheExponentWhereShort) {
  EXPECT_EQ(significant(1234.5, 3), "1230");
  EXPECT_EQ(significant(0.00123456, 3), "0.00123");
  EXPECT_EQ(significant(9.996, 3), "10.0");
  EXPECT_EQ(significant(0, 3), "0");
  EXPECT_EQ(significant(-2.5, 2), "-2.5");
}

TEST(NumberText, FixedAndGrouped) {
  EXPECT_EQ(fixed(1.4, 2), "1.40");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-999), "-999");
  EXPECT_EQ(grouped(1000), "1,000");
}

TEST(NumberText, ParseRefusesTrailingText) {
  EXPECT_EQ(parse_number("0.5", "x"), 0.5);
  EXPECT_THROW(parse_number("0,5", "x"), Error);
  EXPECT_THROW(parse_number("", "x"), Error);
  EXPECT_TRUE(std::isnan(parse_number("NaN", "x")));
}

TEST(NumberText, DoesNotDependOnTheLocale) {
  // Where the German locale is installed a naive printer would write 0,5 here.
  const char* old = std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(number_text(0.5), "0.5");
  EXPECT_EQ(parse_number("0.5", "x"), 0.5);
  if (old) std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace draftlab
