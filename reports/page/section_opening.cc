// The first screen: the answer, the forest of differences, costs, what speaks against, the checks.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <set>

#include "base/number_text.h"
#include "record/update_cost.h"
#include "reports/charts/drawing.h"
#include "reports/page/opening.h"
#include "reports/page/opening_charts.h"
#include "reports/page/sections.h"
#include "reports/study/comparison.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// A name in a sentence that has to stay short; whole where the arms are listed.
std::string short_name(const std::string& name) { return shorten(name, 24); }

// "up to 1.6× AdamW" of the arms' numbers over that of the reference; "" where one is not known.
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
  const std::string from = significant(low, 2), to = significant(high, 2);
  return (from == to ? "" : "up to ") + to + "× " + short_name(reference.name);
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
      never.push_back(short_name(arm.name));
      continue;
    }
    fastest = std::min(fastest, seconds);
    slowest = std::max(slowest, seconds);
  }
  if (slowest == 0) return "no arm";
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
  return best == nullptr ? "" : short_name(best->name) + " leads";
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
  box("Step cost", ratios(summary, step_seconds), html);
  box("State", ratios(summary, state_bytes), html);
  return html.empty() ? "" : "<dl class=\"boxes\">\n" + html + "</dl>\n";
}

std::string checks_bar(const Opening& opening) {
  const struct {
    int64_t n;
    const char *one, *many, *css;
  } parts[] = {{opening.passed, "passes", "pass", "pass"},
               {opening.informed, "informs", "inform", "inform"},
               {opening.warned, "warns", "warn", "warn"},
               {opening.refused, "refuses", "refuse", "refuse"}};
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

// What the forest says, for a page too narrow for its words.
std::string rows_in_words(const Opening& opening) {
  if (opening.rows.size() < 2) return "";
  std::string html = "<ul class=\"rows\" aria-hidden=\"true\">\n";
  for (const ForestRow& row : opening.rows) {
    html += "<li>" + look_sample(row.look) + " " + escape(row.arm) + " <strong>" +
            escape(words_of(row, opening.decimals)) + "</strong></li>\n";
  }
  return html + "</ul>\n";
}

// What warns or refuses, refusals first; the rest is counted, and all of it is below.
std::string against(const Opening& opening) {
  constexpr size_t kMost = 3;
  if (opening.against.empty()) return "";
  std::string text;
  for (size_t i = 0; i < std::min(kMost, opening.against.size()); ++i)
    text += (i == 0 ? "" : " · ") + escape(opening.against[i]);
  if (opening.against.size() > kMost) {
    text +=
        " · <a href=\"#fairness\">" + std::to_string(opening.against.size() - kMost) + " more</a>";
  }
  return "<p class=\"against\"><strong>Speaks against</strong> " + text + "</p>\n";
}

// " · 5 seeds · 2026-11-30".
std::string when(const Study& study) {
  std::set<std::string> seeds;
  for (const Result& run : study.results)
    if (run.phase != kTrial) seeds.insert(seed_text(run.seeds));
  std::string text =
      seeds.empty() ? "" : " · " + counted(static_cast<int64_t>(seeds.size()), "seed");
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
  return "<nav aria-label=\"Contents\">\n" +
         details("Contents", "<div class=\"contents\">\n" + links + "</div>\n") + "</nav>\n";
}

std::string opening_section(const Study& study) {
  const Opening first = opening(study);
  std::string html =
      "<p class=\"kicker\">" + escape(shorten(study.plan.name, 80)) + when(study) + "</p>\n<h1>" +
      escape(first.headline) + "</h1>\n<div class=\"opening\">\n<div>\n" + forest_figure(first) +
      rows_in_words(first) + against(first) + checks_bar(first) + "</div>\n<div>\n" + boxes(study) +
      (study.summary.arms.empty() ? "" : difference_figure(study)) + "</div>\n</div>\n";
  return html;
}

}  // namespace draftlab
