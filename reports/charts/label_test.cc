#include "reports/charts/label.h"

#include <gmock/gmock.h>

namespace draftlab {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Truly;

TEST(Label, ShortNamesStayAsTheyAre) {
  EXPECT_THAT(fitted({"AdamW", "Muon"}, 100), ElementsAre("AdamW", "Muon"));
}

TEST(Label, WhatAllNamesShareIsLeftOutFirst) {
  EXPECT_THAT(
      fitted({"learning rate schedule warmup 0.1", "learning rate schedule cosine 0.1"}, 95),
      ElementsAre("…warmup 0.1", "…cosine 0.1"));
  EXPECT_THAT(fitted({"one of the names", "two of the names"}, 60), ElementsAre("one…", "two…"));
}

TEST(Label, NamesThatDifferAtEitherEndStayToldApart) {
  const std::string middle(500, 'x');
  const auto labels = fitted({"a" + middle + "1", "a" + middle + "2", "b" + middle + "1"}, 70);
  EXPECT_THAT(labels, Each(Truly([](const std::string& l) { return text_width(l) <= 70; })));
  EXPECT_NE(labels[0], labels[1]);
  EXPECT_NE(labels[0], labels[2]);
}

TEST(Label, WideLettersCountAsWideAndCodePointsStayWhole) {
  EXPECT_GT(text_width("WWWW"), 2 * text_width("iiii"));
  EXPECT_EQ(fitted({"ééééééééééééééé"}, 60)[0].find("\xC3…"), std::string::npos);
}

TEST(Label, OneNameIsCutInTheMiddle) {
  EXPECT_THAT(fitted({"abcdefghijklmnopqrstuvwxyz"}, 60), ElementsAre("abc…xyz"));
}

}  // namespace
}  // namespace draftlab
