#include "reports/chart.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <regex>

#include "reports/drawing.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

int64_t count(const std::string& text, const std::string& part) {
  int64_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

LineChart line_chart() {
  LineChart chart;
  chart.text = {"loss", "Loss <against> steps", "A \"description\"", "steps", ""};
  chart.series.push_back({0, "AdamW", {{0, 10}, {50, 8}, {100, 6}}, Series::Stroke::kMean});
  return chart;
}

TEST(LineChart, SaysWhatItShowsAndEscapesIt) {
  const std::string text = svg(line_chart());
  EXPECT_THAT(text, HasSubstr("role=\"img\" aria-labelledby=\"loss-title loss-desc\""));
  EXPECT_THAT(text, HasSubstr("<title id=\"loss-title\">Loss &lt;against&gt; steps</title>"));
  EXPECT_THAT(text, HasSubstr("<desc id=\"loss-desc\">A &quot;description&quot;</desc>"));
  EXPECT_THAT(text, Not(HasSubstr("<against>")));
}

TEST(LineChart, ASmallOneHasTheSameTextInLessRoom) {
  LineChart chart = line_chart();
  chart.small = true;
  const std::string text = svg(chart);
  EXPECT_THAT(text, HasSubstr("viewBox=\"0 0 300 200\""));
  EXPECT_EQ(count(text, "class=\"dot c0\""), 3);
}

TEST(LineChart, TicksMayHaveWordsAndFaintDotsHaveNoMarker) {
  LineChart chart = line_chart();
  chart.x_ticks = {{0, "start"}, {100, "exact"}};
  chart.series.push_back({1, "tried", {{0, 7}, {100, 9}, {50, kNaN}}, Series::Stroke::kFaint});
  const std::string text = svg(chart);
  EXPECT_THAT(text, HasSubstr(">exact</text>"));
  EXPECT_EQ(count(text, "class=\"faint\""), 2);
  EXPECT_EQ(count(text, "class=\"dot c1\""), 0);
}

TEST(LineChart, ANotANumberBreaksTheLineAndGetsNoMarker) {
  LineChart chart = line_chart();
  EXPECT_EQ(count(svg(chart), "class=\"dot c0\""), 3);
  chart.series[0].points[1].y = kNaN;
  const std::string text = svg(chart);
  EXPECT_EQ(count(text, "class=\"dot c0\""), 2);
  std::smatch path;
  ASSERT_TRUE(std::regex_search(text, path, std::regex("<path d=\"([^\"]*)\" class=\"mean c0\"")));
  EXPECT_EQ(count(path[1], "M"), 2);
  EXPECT_EQ(count(path[1], "L"), 0);
  EXPECT_THAT(text, Not(HasSubstr("NaN")));
}

TEST(LineChart, DivergedRunsAreCrossesAndNotPoints) {
  LineChart chart = line_chart();
  chart.diverged.push_back({1, "Muon", 50, 2});
  EXPECT_EQ(count(svg(chart), "class=\"cross c1\""), 1);
  EXPECT_THAT(svg(chart), HasSubstr("Muon: 2 diverged at 50"));
}

TEST(LineChart, OneLineWithManyEvaluationsIsMarkedHereAndThereAndAtItsEnd) {
  LineChart chart = line_chart();
  chart.series[0].points.clear();
  for (int i = 0; i < 500; ++i) chart.series[0].points.push_back({1.0 * i, 10 - 0.01 * i});
  const std::string text = svg(chart);
  EXPECT_LT(count(text, "class=\"dot c0\""), 20);
  EXPECT_THAT(text, HasSubstr(" at 499"));
}

TEST(LineChart, AWideRangeOfLossesGetsALogarithmicScale) {
  LineChart chart = line_chart();
  use_log_scale_if_wide(chart);
  EXPECT_EQ(chart.y_scale, Scale::kLinear);
  chart.series[0].points[0].y = 30;
  use_log_scale_if_wide(chart);
  EXPECT_EQ(chart.y_scale, Scale::kLog);
}

TEST(LineChart, WithoutAnyPointIsStillDrawn) {
  LineChart chart = line_chart();
  chart.series[0].points = {{0, kNaN}};
  EXPECT_THAT(svg(chart), HasSubstr("</svg>"));
}

TEST(DotChart, ValuesThatAreNotReachedAreCrossesInTheStrip) {
  DotChart chart;
  chart.text = {"target", "Steps to target", "", "steps", ""};
  chart.strip = "not reached";
  chart.rows.push_back({0, "AdamW", {"1", "2"}, {100, 120}, estimate({100, 120})});
  EXPECT_THAT(svg(chart), Not(HasSubstr("not reached")));
  chart.rows.push_back({1, "Muon", {"1", "2"}, {90, INFINITY}, estimate({})});
  const std::string text = svg(chart);
  EXPECT_EQ(count(text, "class=\"cross c1\""), 1);
  EXPECT_EQ(count(text, "class=\"dot c1\""), 1);
  EXPECT_EQ(count(text, "class=\"pair-line\""), 1);  // seed 2 has one dot only
  EXPECT_THAT(text, HasSubstr("not reached"));
}

TEST(BarChart, PartsAreStackedInTheirOrder) {
  BarChart chart;
  chart.text = {"seconds", "Milliseconds", "", "ms", ""};
  chart.rows.push_back({"AdamW", {50, 25, 25}, "100 ms"});
  const std::string text = svg(chart);
  std::vector<double> from, width;
  const std::regex bar("<rect x=\"([0-9.]+)\" y=\"[0-9.]+\" width=\"([0-9.]+)\"");
  for (std::sregex_iterator it(text.begin(), text.end(), bar), end; it != end; ++it) {
    from.push_back(std::stod((*it)[1]));
    width.push_back(std::stod((*it)[2]));
  }
  ASSERT_EQ(from.size(), 3u);
  EXPECT_NEAR(width[0], 2 * width[1], 0.2);
  EXPECT_NEAR(from[1], from[0] + width[0], 0.2);
  EXPECT_NEAR(from[2], from[1] + width[1], 0.2);
  EXPECT_THAT(text, HasSubstr("100 ms"));
}

TEST(Look, ArmsDifferAlsoWithoutColour) {
  EXPECT_NE(look_sample(0), look_sample(7));  // the same colour
  EXPECT_EQ(colour_class(0), colour_class(7));
  EXPECT_NE(dash_pattern(0), dash_pattern(7));
}

}  // namespace
}  // namespace draftlab
