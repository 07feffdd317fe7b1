#include "reports/page/opening.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "reports/checks/checked_study.h"
#include "reports/page/opening_text.h"
#include "reports/page/page.h"
#include "testing/synthetic_folder.h"

namespace draftlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OpeningTest : public ::testing::Test {
 protected:
  OpeningTest() : root_(scratch_folder("draftlab_opening")) {
    sweep_ = SyntheticSweep::of_four();
    sweep_.target = {"acceptance_length", 1.3};
  }
  ~OpeningTest() override { std::filesystem::remove_all(root_); }
  Study study(const std::vector<SyntheticEnd>& ends = {}) {
    std::filesystem::remove_all(root_);
    return checked_study(write_synthetic_folder(root_, sweep_, ends));
  }

  std::filesystem::path root_;
  SyntheticSweep sweep_;
};

std::vector<std::string> said(const Opening& opening) {
  std::vector<std::string> rows;
  for (const ForestRow& row : opening.rows) rows.push_back(row.arm + ": " + row.said);
  return rows;
}

TEST_F(OpeningTest, NamesWhoBeatsTheReferenceByHowMuchAndNothingThatNobodyAsked) {
  const Opening first = opening(study());
  EXPECT_THAT(first.headline, HasSubstr(" beat AdamW: +"));
  EXPECT_THAT(first.headline, HasSubstr(" acceptance length after 200 steps. Which is best "
                                        "was not asked."));
  ASSERT_EQ(first.rows.size(), 4u);
  EXPECT_EQ(first.rows[3].arm, "AdamW");
  EXPECT_TRUE(first.rows[3].reference);
  EXPECT_EQ(first.rows[3].said, "above bigram table (1.180)");
  EXPECT_GE(first.rows[0].value, first.rows[1].value);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(first.rows[i].said, "better");
    EXPECT_GT(first.rows[i].low, 0) << "the interval that is drawn is that of the claim";
  }
}

TEST_F(OpeningTest, EveryArmOfTheSweepHasARowWhateverBecameOfIt) {
  std::vector<SyntheticEnd> ends;
  for (double rate : sweep_.arms[1].rates) {
    for (int64_t seed : {1, 2, 3})
      ends.push_back({synthetic_run(sweep_.arms[1].name, rate, seed), "diverged", "loss is NaN"});
  }
  for (double rate : sweep_.arms[2].rates) {
    for (int64_t seed : {1, 2, 3})
      ends.push_back({synthetic_run(sweep_.arms[2].name, rate, seed), "not started", ""});
  }
  const Opening first = opening(study(ends));
  const std::string all = std::to_string(3 * sweep_.arms[1].rates.size());
  EXPECT_THAT(said(first), Contains(sweep_.arms[1].name + ": diverged in " + all + " of " + all));
  EXPECT_THAT(said(first), Contains(sweep_.arms[2].name + ": no result yet"));
  EXPECT_EQ(first.rows.size(), 4u);
}

TEST_F(OpeningTest, SaysThatNothingCanBeClaimedAndWhatCouldHaveBeenSeen) {
  for (size_t i = 1; i < 4; ++i) {
    sweep_.arms[i].lengths = sweep_.arms[0].lengths;
    for (double& length : sweep_.arms[i].lengths) length += 1e-4 * static_cast<double>(i);
  }
  const Opening first = opening(study());
  EXPECT_THAT(first.headline, HasSubstr("No difference of "));
  EXPECT_THAT(first.headline, HasSubstr(" to AdamW can be claimed; one of 0."));
  EXPECT_THAT(first.headline, HasSubstr(" would show 8 times in 10."));
}

TEST_F(OpeningTest, NamesNoWinnerWhereACheckRefusesAll) {
  sweep_.seeds = 2;
  const Opening first = opening(study());
  EXPECT_EQ(first.headline, "No winner: F07 refuses every comparison with AdamW.");
  EXPECT_THAT(first.against, Contains("F07 too few seeds"));
  EXPECT_GT(first.refused, 0);
  // Each check is counted once.
  EXPECT_EQ(first.passed + first.warned + first.refused + first.informed + first.excluded, 44);
}

// The words on the first screen of a page, without tags, those in pictures, and the rows that stand
// in for the picture's on a narrow screen.
std::string first_screen(const std::string& page) {
  const size_t from = page.find("<header>"), to = page.find("<nav");
  std::string text, html = page.substr(from, to - from);
  for (size_t svg = html.find("<svg"); svg != std::string::npos; svg = html.find("<svg"))
    html.erase(svg, html.find("</svg>") + 6 - svg);
  const size_t rows = html.find("<ul class=\"rows\"");
  html.erase(rows, html.find("</ul>", rows) - rows);
  bool tag = false;
  for (const char c : html) {
    if (c == '<') tag = true;
    if (!tag) text += c;
    if (c == '>') {
      tag = false;
      text += ' ';
    }
  }
  return text;
}

TEST_F(OpeningTest, TheFirstScreenIsShortAndBeginsWithAPicture) {
  const std::string html = page(study(), std::nullopt);
  std::istringstream words(first_screen(html));
  int64_t count = 0;
  int64_t numbers = 0;
  for (std::string word; words >> word;) {
    const bool letters = std::ranges::any_of(word, [](char c) { return std::isalpha(c); });
    count += letters;
    numbers += !letters && std::ranges::any_of(word, [](char c) { return std::isdigit(c); });
  }
  EXPECT_LE(count, 70) << first_screen(html);
  EXPECT_LE(numbers, 12) << first_screen(html);
  EXPECT_LT(html.find("<svg id=\"forest\""), html.find("<nav"));
}

TEST_F(OpeningTest, InATerminalTheForestFitsItsWidth) {
  for (const size_t width : {60, 80, 100, 140}) {
    std::istringstream lines(opening_text(opening(study()), width));
    int64_t rows = 0;
    for (std::string line; std::getline(lines, line); ++rows) {
      // Characters, not bytes.
      const auto size = std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; });
      EXPECT_LE(static_cast<size_t>(size), width) << line;
    }
    EXPECT_GT(rows, 6);
  }
  const std::string text = opening_text(opening(study()), 100);
  EXPECT_THAT(text, HasSubstr("AdamW"));
  EXPECT_THAT(text, HasSubstr("better"));
  EXPECT_THAT(text, HasSubstr("Speaks against: F12"));
}

TEST_F(OpeningTest, InATerminalNoNameSendsAControlCharacter) {
  const auto lines = [&] {
    const std::string text = opening_text(opening(study()), 100);
    EXPECT_TRUE(std::ranges::none_of(text, [](char c) { return c == '\t' || c == '\x1b'; }));
    EXPECT_EQ(text.find("\u009b"), std::string::npos);
    return std::ranges::count(text, '\n');
  };
  const auto usual = lines();
  sweep_.arms[1].name = "M\n\t\u009b2J";
  EXPECT_EQ(lines(), usual);
  EXPECT_THAT(opening_text(opening(study()), 100), HasSubstr("M\\x0a\\x09\\xc2\\x9b2J"));
}

TEST_F(OpeningTest, AsJsonANumberThatIsNotKnownIsNull) {
  std::vector<SyntheticEnd> ends;
  for (double rate : sweep_.arms[1].rates) {
    for (int64_t seed : {1, 2, 3})
      ends.push_back({synthetic_run(sweep_.arms[1].name, rate, seed), "diverged", "loss is NaN"});
  }
  const Opening first = opening(study(ends));
  const JsonObject object = to_json(first);
  EXPECT_EQ(object.at("headline"), Json(first.headline));
  EXPECT_EQ(object.at("arms").as_array().size(), 4u);
  for (const Json& arm : object.at("arms").as_array()) {
    const bool known = arm.at("arm") != Json(sweep_.arms[1].name);
    EXPECT_EQ(arm.at("value").is_null(), !known);
  }
}

}  // namespace
}  // namespace draftlab
