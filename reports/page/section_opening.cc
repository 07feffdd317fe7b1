// The first screen: the answer, the forest of differences, costs, what speaks against, the checks.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <set>

#include "base/number_text.h"
#include "record/update_cost.h"
#include "reports/charts/axis.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/page/opening.h"
#include "reports/page/sections.h"
#include "reports/study/comparison.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr double kWidth = 690, kNames = 150, kSaid = 245, kTop = 38, kRow = 27;

std::string forest_svg(const Opening& opening) {
  const double left = kNames, right = kWidth - kSaid;
  const double height = kTop + kRow * static_cast<double>(opening.rows.size()) + 4;
  std::vector<double> xs = {0};
  for (const ForestRow& row : opening.rows)
    for (const double x : {row.low, row.high, row.difference})
      if (std::isfinite(x)) xs.push_back(x);
  const Axis x(Scale::kLinear, xs, left, right);
  Drawing drawing("forest", capitalized(opening.measure),
                  "Each arm's difference to the reference with the interval that goes with its "
                  "claim; right of 0 is higher.",
                  kWidth, height);
  drawing.text(0, 14, capitalized(opening.measure), "title");
  for (const Tick& tick : without_overlap(x.ticks(5), x)) {
    drawing.line(x.at(tick.value), kTop - 2, x.at(tick.value), height - 2, "grid");
    drawing.text(x.at(tick.value), kTop - 5, tick.label, "small middle halo");
  }
  drawing.line(x.at(0), kTop - 2, x.at(0), height - 2, "axis");
  for (size_t i = 0; i < opening.rows.size(); ++i) {
    const ForestRow& row = opening.rows[i];
    const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
    drawing.begin_tip(row.arm + ": " + row.said);
    drawing.text(0, y + 4, shorten(row.arm, 21), "rowname");
    std::string said = row.said;
    if (row.reference && std::isfinite(row.value)) {
      drawing.marker(row.look, x.at(0), y, 4.5, row.arm);
      said = fixed(row.value, opening.decimals) + (said.empty() ? "" : ", ") + said;
    }
    if (std::isfinite(row.difference)) {
      if (std::isfinite(row.low))
        drawing.line(x.at(row.low), y, x.at(row.high), y, "interval " + colour_class(row.look));
      drawing.marker(row.look, x.at(row.difference), y, 4.5, row.arm);
      said = signed_text(row.difference, opening.decimals) + "  " + said;
    }
    drawing.text(right + 12, y + 4, shorten(said, 36), row.claimed ? "label strong" : "label");
    drawing.end_tip();
  }
  return drawing.svg();
}

// "1.44× to 1.58×" of the arms' numbers over that of the reference; "" where one is not known.
std::string ratios(const Summary& summary, double (*of)(const Arm&)) {
  const Arm& reference = summary.arms[summary.reference];
  if (reference.chosen() == nullptr) return "";
  double low = INFINITY, high = 0;
  for (const Arm& arm : summary.arms) {
    if (&arm == &reference || arm.chosen() == nullptr || arm.copy_of) continue;
    const double ratio = of(arm) / of(reference);
    if (!std::isfinite(ratio)) return "";
    low = std::min(low, ratio);
    high = std::max(high, ratio);
  }
  if (high == 0) return "";
  const std::string from = fixed(low, 2), to = fixed(high, 2);
  return from + (from == to ? "" : " to " + to) + " times " + reference.name + "'s";
}

double step_seconds(const Arm& arm) { return arm.chosen()->seconds_per_step.estimate.mean; }

double state_bytes(const Arm& arm) {
  const Result& run = example_run(arm);
  return static_cast<double>(update_cost(run.config.routing, run.optimizer).state_bytes);
}

// "AdamW never · the others in 50 s to 56 s"
std::string time_to_target(const Study& study) {
  std::vector<std::string> never;
  double fastest = INFINITY, slowest = 0;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() == nullptr || arm.copy_of) continue;
    const double seconds = arm.chosen()->target.seconds;
    if (!std::isfinite(seconds)) {
      never.push_back(arm.name);
      continue;
    }
    fastest = std::min(fastest, seconds);
    slowest = std::max(slowest, seconds);
  }
  if (slowest == 0) return "reached by no arm";
  const std::string when =
      seconds_text(fastest) + (slowest > fastest ? " to " + seconds_text(slowest) : "");
  return never.empty() ? when : joined(never) + " never · others " + when;
}

std::string same_time(const Study& study) {
  const Summary& summary = study.summary;
  const Measure measure = summary.chosen_by;
  for (const Comparison& one : comparisons(study, measure, View::kEqualSeconds))
    if (one.refusal != nullptr) return "no winner (" + one.refusal->id + ")";
  const Arm* best = nullptr;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const double value = at_equal_seconds(*arm.chosen(), measure).estimate.mean;
    if (best == nullptr ||
        better(measure, value, at_equal_seconds(*best->chosen(), measure).estimate.mean))
      best = &arm;
  }
  return best == nullptr ? "" : best->name + " leads";
}

void box(const std::string& name, const std::string& text, std::string& html) {
  if (!text.empty()) html += "<dt>" + escape(name) + "</dt><dd>" + escape(text) + "</dd>\n";
}

std::string boxes(const Study& study) {
  const Summary& summary = study.summary;
  std::string html;
  box("Same time", std::isnan(summary.equal_seconds) ? "" : same_time(study), html);
  if (!study.plan.target.metric.empty())
    box("Time to " + number_text(study.plan.target.value), time_to_target(study), html);
  box("A step costs", ratios(summary, step_seconds), html);
  box("Optimizer state", ratios(summary, state_bytes), html);
  return html.empty() ? "" : "<dl class=\"boxes\">\n" + html + "</dl>\n";
}

std::string checks_bar(const Opening& opening) {
  const struct {
    int64_t n;
    const char *one, *many, *css;
  } parts[] = {{opening.passed, "passes", "pass", "pass"},
               {opening.informed, "informs", "inform", "inform"},
               {opening.warned, "warns", "warn", "warn"},
               {opening.refused, "refuses", "refuse", "refuse"},
               {opening.excluded, "cannot happen", "cannot happen", "none"}};
  std::string bar, words;
  for (const auto& part : parts) {
    if (part.n == 0) continue;
    bar += "<span class=\"" + std::string(part.css) +
           "\" style=\"flex-grow:" + std::to_string(part.n) + "\"></span>";
    words += (words.empty() ? "" : " · ") + std::to_string(part.n) + " " +
             (part.n == 1 ? part.one : part.many);
  }
  return "<div class=\"checks\"><strong>Checks</strong> <a href=\"#fairness\">" + words +
         "</a><div class=\"bar\" aria-hidden=\"true\">" + bar + "</div></div>\n";
}

// " · 600 steps, 5 seeds · 2026-11-30", as far as it is one number.
std::string when(const Study& study) {
  std::set<int64_t> steps;
  std::set<std::string> seeds;
  for (const Result& run : study.results) {
    if (run.phase == kTrial) continue;
    steps.insert(run.config.training.steps);
    seeds.insert(seed_text(run.seeds));
  }
  std::string text;
  if (steps.size() == 1) text += " · " + counted(*steps.begin(), "step") + ", ";
  if (steps.size() > 1) text += " · ";
  if (!steps.empty()) text += counted(static_cast<int64_t>(seeds.size()), "seed");
  double latest = 0;
  for (const WorkerEvent& event : study.events) latest = std::max(latest, event.start);
  if (latest > 0) {
    const auto day = std::chrono::floor<std::chrono::days>(
        std::chrono::sys_seconds(std::chrono::seconds(static_cast<int64_t>(latest))));
    const std::chrono::year_month_day date(day);
    char digits[32];
    std::snprintf(digits, sizeof digits, " · %04d-%02u-%02u", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    text += digits;
  }
  return text;
}

}  // namespace

std::string contents(const std::string& sections) {
  std::string links;
  const std::string before = "<section id=\"", heading = "<h2>";
  for (size_t at = sections.find(before); at != std::string::npos;
       at = sections.find(before, at + 1)) {
    const size_t id = at + before.size(), id_end = sections.find('"', id);
    const size_t title = sections.find(heading, id_end), title_end = sections.find("</h2>", title);
    if (title == std::string::npos) break;
    links += "<a href=\"#" + sections.substr(id, id_end - id) + "\">" +
             sections.substr(title + heading.size(), title_end - title - heading.size()) + "</a>\n";
  }
  return "<nav class=\"contents\" aria-label=\"Contents\">\n" + links + "</nav>\n";
}

std::string opening_section(const Study& study) {
  const Opening first = opening(study);
  std::string html = "<p class=\"kicker\">draftlab report · " + escape(study.plan.name) +
                     when(study) + "</p>\n<h1>" + escape(first.headline) +
                     "</h1>\n<div class=\"opening\">\n";
  if (first.rows.size() > 1) html += figure_of(forest_svg(first), {.csv = "pairs.csv"}, "");
  html += boxes(study) + "</div>\n";
  if (!first.against.empty()) {
    constexpr size_t kMost = 6;
    std::string against;
    for (size_t i = 0; i < std::min(kMost, first.against.size()); ++i)
      against += (i == 0 ? "" : " · ") + escape(first.against[i]);
    if (first.against.size() > kMost)
      against += " · " + std::to_string(first.against.size() - kMost) + " more";
    html += "<p class=\"against\"><strong>Speaks against</strong> " + against + "</p>\n";
  }
  return html + checks_bar(first);
}

}  // namespace draftlab
