#include "reports/charts/chart.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <regex>

#include "base/number_text.h"
#include "reports/charts/drawing.h"

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

TEST(LineChart, ManyLongLinesTogetherStaySmallAndKeepTheirExtremes) {
  LineChart chart = line_chart();
  chart.series.clear();
  for (size_t k = 0; k < 100; ++k) {
    Series series{k, "run", {}, Series::Stroke::kSeed};
    for (int i = 0; i <= 5000; ++i)
      series.points.push_back({static_cast<double>(i), 5 + std::sin(0.7 * i + 0.1 * k)});
    series.points[1234].y = 1;  // one bad evaluation
    chart.series.push_back(std::move(series));
  }
  const std::string text = svg(chart);
  EXPECT_LT(text.size(), 400'000u);
  const double bottom = Axis(Scale::kLinear, {1, 6}, 258, 34).at(1);
  EXPECT_EQ(count(text, " " + number_text(std::round(10 * bottom) / 10) + "L"), 100);
}

TEST(LineChart, BandsAreClippedAndMayNotDwarfTheLines) {
  LineChart chart = line_chart();
  chart.bands.push_back({0, {{0, 9, 11}, {50, -1000, 1000}, {100, kNaN, kNaN}}});
  const std::string text = svg(chart);
  EXPECT_EQ(count(text, "class=\"band c0\""), 1);
  EXPECT_THAT(text, HasSubstr("clip-path=\"url(#loss-clip-1)\""));
  // From 6 to 10, and at most 0.3 of that more on both sides.
  EXPECT_THAT(text, Not(HasSubstr(">1,000</text>")));
  EXPECT_THAT(text, HasSubstr(">10</text>"));
}

TEST(LineChart, AWindowShowsWhatLiesInsideOnItsOwnScale) {
  LineChart chart = line_chart();
  chart.x_from = 60;
  const std::string text = svg(chart);
  EXPECT_EQ(count(text, "class=\"dot c0\""), 1);
  EXPECT_THAT(text, Not(HasSubstr(">10</text>")));
}

TEST(LineChart, LabelsOfLevelsStandWhereFewestLinesCrossThem) {
  LineChart chart = line_chart();
  chart.series[0].points = {{0, 0}, {60, 0}, {100, 10}};
  chart.levels.push_back({9.6, "target 9.6"});
  std::smatch label;
  std::string text = svg(chart);
  const std::regex at("<text x=\"([0-9.]+)\"[^>]*>target 9.6<");
  ASSERT_TRUE(std::regex_search(text, label, at));
  EXPECT_LT(std::stod(label[1]), 100);
  chart.series[0].points = {{0, 10}, {40, 0}, {100, 0}};
  text = svg(chart);
  ASSERT_TRUE(std::regex_search(text, label, at));
  EXPECT_GT(std::stod(label[1]), 300);
}

TEST(LineChart, ALowerPlotSharesTheHorizontalAxis) {
  LineChart chart = line_chart();
  chart.lower = LowerPlot{"rate", {{0, "", {{0, 0}, {50, 1}, {100, 0}}, Series::Stroke::kPlain}}};
  const std::string text = svg(chart);
  EXPECT_EQ(count(text, "class=\"plain\""), 1);
  EXPECT_EQ(count(text, ">100</text>"), 1);  // one axis for both
  EXPECT_THAT(text, HasSubstr(">rate</text>"));
}

TEST(LineChart, EdgesOfWhatWasTriedAreShadedBesideEachOther) {
  LineChart chart = line_chart();
  chart.columns = {{0, 50}, {1, 50}};
  const std::string text = svg(chart);
  std::vector<double> from;
  const std::regex column("<rect x=\"([0-9.]+)\"[^>]*class=\"column c");
  for (std::sregex_iterator it(text.begin(), text.end(), column), end; it != end; ++it)
    from.push_back(std::stod((*it)[1]));
  ASSERT_EQ(from.size(), 2u);
  EXPECT_NEAR(from[1] - from[0], 9, 0.2);
}

TEST(TimelineChart, OutcomesDifferInShapeAndAreExplained) {
  TimelineChart chart;
  chart.text = {"timeline", "Jobs", "", "time", "", "jobs.csv"};
  chart.rows = {{"a", {{0, 60, "interrupted", "a: interrupted"}, {90, 300, "done", "a: done"}}},
                {"b", {{10, 300, "", "b: no end recorded"}}},
                {"c", {{10, 200, "diverged", "c <d>"}}}};
  const std::string text = svg(chart);
  for (const char* part : {"bar o-done", "bar o-interrupted", "bar o-unknown", "bar o-diverged",
                           "2 attempts", "time, minutes", "<title>c &lt;d&gt;</title>"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_EQ(count(text, "class=\"bar-end\""), 2);
  EXPECT_EQ(count(legend(chart), "<li>"), 4);
  EXPECT_THAT(figure(chart), HasSubstr("<figcaption><a href=\"jobs.csv\">jobs.csv</a>"));
  chart.rows[0].bars[0].outcome = "\"><b>";
  EXPECT_THAT(svg(chart) + legend(chart), Not(HasSubstr("<b>")));
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
  EXPECT_NE(look_sample(0), look_sample(7));                        // the same hue
  EXPECT_TRUE(colour_class(7).starts_with(colour_class(0) + " "));  // lighter or darker
  EXPECT_NE(dash_pattern(0), dash_pattern(7));
}

}  // namespace
}  // namespace draftlab
