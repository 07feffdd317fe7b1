
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/stats/claim.h"
#include "reports/study/curve.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

struct ClockText {
  std::string id, label, unit;
};

ClockText text_of(Clock clock) {
  switch (clock) {
    case Clock::kSteps:
      return {"steps", "training steps", "steps"};
    case Clock::kTokens:
      return {"tokens", "supervised tokens trained on", "tokens"};
    case Clock::kSeconds:
      return {"seconds", "training seconds", "seconds"};
  }
  return {};
}

Band band_of(const Arm& arm, const std::vector<CurvePoint>& curve) {
  Band band{arm.look, {}};
  for (const CurvePoint& point : curve) band.points.push_back({point.x, point.y.low, point.y.high});
  return band;
}

// "A step visits 8 sequences, an epoch 450." where that is so for all runs, or nothing.
std::string visits_text(const Study& study) {
  std::set<std::pair<int64_t, int64_t>> alike;
  for (const Result& run : study.results)
    alike.emplace(run.config.training.sequences_per_step, run.config.split.train);
  if (alike.size() != 1) return "";
  return "A step visits " + counted(alike.begin()->first, "sequence") + ", an epoch " +
         grouped(alike.begin()->second) + ".";
}

LineChart curve_chart(const Study& study, Measure measure, Clock clock) {
  const Summary& summary = study.summary;
  const MeasureKind& kind = kind_of(measure);
  const ClockText text = text_of(clock);
  LineChart chart;
  chart.text.id = kind.key + "-" + text.id;
  chart.text.x_label = text.label;
  chart.text.title = capitalized(kind.name) + " against " + text.unit;
  chart.text.description = "Held-out " + kind.name + " against " + chart.text.x_label +
                           " for the chosen setting of each arm: thick lines are means over "
                           "seeds with their 95 % intervals as bands, thin lines single seeds.";
  chart.text.csv = "evaluations.csv";
  if (clock == Clock::kSeconds && shared_machine(summary))
    chart.text.mark = "\u2020 shared machine";
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const auto& runs = arm.chosen()->finished;
    for (const Result* run : runs) {
      if (runs.size() < 2) break;  // the mean is the run
      chart.series.push_back(
          {arm.look, run->run, run->curve(measure, clock), Series::Stroke::kSeed});
    }
    const std::vector<CurvePoint> curve = curve_estimates(runs, measure, clock);
    if (static_cast<int64_t>(runs.size()) >= kFewestForInterval)
      chart.bands.push_back(band_of(arm, curve));
    chart.series.push_back({arm.look, arm.name, means(curve), Series::Stroke::kMean});
  }
  if (measure == Measure::kLoss) use_log_scale_if_wide(chart);
  if (measure == Measure::kAcceptanceLength && summary.baselines) {
    chart.levels.push_back({summary.baselines->bigram_acceptance_length, "bigram chain"});
  }
  if (study.plan.target.metric == kind.key) {
    chart.levels.push_back(
        {study.plan.target.value, "target " + number_text(study.plan.target.value)});
  }
  return chart;
}

bool same_schedule(const std::vector<Point>& a, const std::vector<Point>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Point& p, const Point& q) {
    return p.x == q.x && std::abs(p.y - q.y) < 1e-6;
  });
}

// The schedule of each arm, as its first finished run logged it; one line where all are equal.
LowerPlot schedules(const Summary& summary) {
  LowerPlot plot;
  plot.label = "learning rate / its base rate";
  bool equal = true;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr || arm.chosen()->finished.empty()) continue;
    plot.series.push_back(
        {arm.look, arm.name, arm.chosen()->finished.front()->schedule, Series::Stroke::kLine});
    equal &= same_schedule(plot.series.front().points, plot.series.back().points);
  }
  if (equal && plot.series.size() > 1) {
    plot.series.resize(1);
    plot.series.front().stroke = Series::Stroke::kPlain;
    plot.label += ", the same for all arms";
  }
  return plot;
}

constexpr double kEnd = 0.2;            // of training, shown closer
constexpr int64_t kFewestInTheEnd = 3;  // evaluations; of fewer the final values tell all

// The last part of training by itself; nothing where it holds too few evaluations.
std::optional<LineChart> end_chart(const Study& study, Measure measure) {
  LineChart chart = curve_chart(study, measure, Clock::kSteps);
  double last = 0;
  for (const Series& series : chart.series) {
    for (const Point& point : series.points) last = std::max(last, point.x);
  }
  chart.x_from = (1 - kEnd) * last;
  int64_t most = 0;
  for (const Series& series : chart.series) {
    most = std::max(most, std::count_if(series.points.begin(), series.points.end(),
                                        [&](const Point& p) { return p.x >= chart.x_from; }));
  }
  if (most < kFewestInTheEnd) return std::nullopt;
  const MeasureKind& kind = kind_of(measure);
  chart.text.id = kind.key + "-end";
  chart.text.title = capitalized(kind.name) + ", the last fifth of training";
  chart.text.description += " Only the last fifth of training is shown, on its own scale.";
  chart.y_scale = Scale::kLinear;
  // One point before the window, so that lines enter it.
  for (Series& series : chart.series) {
    auto inside = std::find_if(series.points.begin(), series.points.end(),
                               [&](const Point& p) { return p.x >= chart.x_from; });
    if (inside != series.points.begin()) --inside;
    series.points.erase(series.points.begin(), inside);
  }
  for (Band& band : chart.bands) {
    auto inside = std::find_if(band.points.begin(), band.points.end(),
                               [&](const Band::At& at) { return at.x >= chart.x_from; });
    if (inside != band.points.begin()) --inside;
    band.points.erase(band.points.begin(), inside);
  }
  return chart;
}

std::string charts_against(const Study& study, Clock clock) {
  return side_by_side(curve_chart(study, Measure::kAcceptanceLength, clock),
                      curve_chart(study, Measure::kLoss, clock));
}

}  // namespace

bool shared_machine(const Summary& summary) {
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    for (const Result* run : arm.chosen()->finished) {
      if (run->alone == false && !run->seconds_from_probe) return true;
    }
  }
  return false;
}

std::string legend(const Summary& summary) {
  std::string html = "<ul class=\"legend\">\n";
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    html += "<li>" + look_sample(arm.look) + " " + escape(arm.name);
    if (!arm.chosen()->label.empty()) html += " <small>" + escape(arm.chosen()->label) + "</small>";
    html += "</li>\n";
  }
  return html + "</ul>\n";
}

std::string curves_section(const Study& study) {
  const Summary& summary = study.summary;
  if (std::isnan(summary.equal_seconds)) {
    return section("curves", "Curves", paragraph("No run has finished yet."));
  }
  LineChart acceptance = curve_chart(study, Measure::kAcceptanceLength, Clock::kSteps);
  LineChart loss = curve_chart(study, Measure::kLoss, Clock::kSteps);
  acceptance.lower = loss.lower = schedules(summary);
  std::string html;
  if (const std::string one_by_one = many_curves(study); !one_by_one.empty())
    html += one_by_one + "<h3>All arms together</h3>\n";
  html += side_by_side(acceptance, loss) + legend(summary);
  html += charts_against(study, Clock::kSeconds);
  const auto acceptance_end = end_chart(study, Measure::kAcceptanceLength);
  const auto loss_end = end_chart(study, Measure::kLoss);
  if (acceptance_end && loss_end)
    html +=
        details("The last fifth of training", side_by_side(*acceptance_end, *loss_end), "figures");
  html += details("Against training tokens",
                  paragraph("Tokens are labels of slots: a token of the text counts once in every "
                            "block that drafts it. " +
                                visits_text(study),
                            "note") +
                      charts_against(study, Clock::kTokens),
                  "figures");
  std::string note =
      "Held-out split. Thick lines with markers: mean over seeds, at its evaluations; thin lines: "
      "single seeds; bands: 95 % Student-t interval of the mean, from " +
      kFewestSeedsInWords +
      " seeds on. Nothing is "
      "smoothed. Seconds are those of training alone: reading data, "
      "forward and backward, and the optimizer; evaluation and checkpoints are off the clock; <a "
      "href=\"#seconds\">Seconds per step</a> says how they were measured.";
  if (shared_machine(summary)) {
    note +=
        " <strong>† Some of these runs shared the machine with another run, so their seconds are "
        "longer than alone.</strong>";
  }
  return section("curves", "Curves", html + paragraph(note, "note"));
}

}  // namespace draftlab
