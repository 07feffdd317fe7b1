// What each arm cost, and every run with a fold of its own.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/number_text.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr size_t kMostRuns = 300;  // each with a fold; a page of thousands must stay small

struct Cost {
  int64_t runs = 0, steps = 0;
  double seconds = 0;
};

void add(const Result& run, Cost& cost) {
  ++cost.runs;
  cost.steps += run.steps;
  cost.seconds += run.train_seconds;
}

std::vector<std::string> cells_of(const Cost& cost) {
  if (cost.runs == 0) return {"–", "–", "–"};
  return {grouped(cost.runs), grouped(cost.steps), seconds_text(cost.seconds)};
}

std::string number_or_dash(double value, int decimals) {
  return std::isnan(value) ? "–" : fixed(value, decimals);
}

std::string fact(const std::string& name, const std::string& html) {
  return html.empty() ? "" : "<dt>" + name + "</dt><dd>" + html + "</dd>\n";
}

// Machines by their processors; hosts stay in the folder.
std::string lives_text(const Result& run) {
  std::vector<std::string> lives;
  for (const Life& life : run.lives) {
    lives.push_back("from step " + grouped(life.first_step) + " on " + life.machine.cpu + " with " +
                    counted(life.machine.threads, "thread"));
  }
  return listed(lives);
}

std::string run_fold(const Result& run) {
  std::string segments;
  for (const std::string& segment : run.segments)
    segments += (segments.empty() ? "" : " → ") + ("<code>" + escape(segment) + "</code>");
  const double length = run.final(Split::kHeldOut, Measure::kAcceptanceLength),
               loss = run.final(Split::kHeldOut, Measure::kLoss);
  std::string summary = escape(run.run) + " <small>" + escape(run.outcome) + "</small>";
  if (!std::isnan(loss)) {
    summary += " · acceptance length " + fixed(length, 3) + ", loss " + fixed(loss, 3);
  }
  std::string facts = fact("Phase", run.phase.empty() ? "" : escape(run.phase));
  facts += fact("Setting", escape(run.point));
  facts += fact("Steps", grouped(run.steps) + " of " + grouped(run.config.training.steps) + " in " +
                             seconds_text(run.train_seconds) +
                             (run.unlabelled_steps > 0 ? ", " + grouped(run.unlabelled_steps) +
                                                             " of them without a label"
                                                       : ""));
  facts += fact("Clipped", std::isnan(run.clipped_share)
                               ? ""
                               : significant(100 * run.clipped_share, 2) + " % of the steps");
  facts += fact("Tuning split",
                run.tuning.empty()
                    ? ""
                    : "acceptance length " +
                          number_or_dash(run.final(Split::kTuning, Measure::kAcceptanceLength), 3) +
                          ", loss " + number_or_dash(run.final(Split::kTuning, Measure::kLoss), 3));
  facts += fact("Ended", escape(run.reason));
  facts += fact("Computed", escape(lives_text(run)));
  facts += fact("Segments", segments);
  facts += fact("Weights",
                run.weights_hash.empty() ? "" : "<code>" + escape(run.weights_hash) + "</code>");
  return details(summary, "<dl class=\"facts\">\n" + facts + "</dl>\n");
}

}  // namespace

std::string cost_section(const Study& study) {
  std::map<std::string, std::pair<Cost, Cost>> costs;  // trials, and what is reported
  bool any_trial = false;
  for (const Result& run : study.results) {
    any_trial |= run.phase == kTrial;
    add(run, run.phase == kTrial ? costs[run.arm].first : costs[run.arm].second);
  }
  std::vector<std::string> head = {"arm"};
  if (any_trial) head.insert(head.end(), {"trials", "their steps", "their time"});
  head.insert(head.end(), {any_trial ? "final runs" : "runs", "steps", "time"});
  if (any_trial) head.push_back("tuning, of all time");
  HtmlTable table(head);
  for (const Arm& arm : study.summary.arms) {
    const auto& [trials, reported] = costs[arm.name];
    std::vector<std::string> cells = {look_sample(arm.look) + " " + escape(arm.name)};
    if (any_trial)
      for (const std::string& cell : cells_of(trials)) cells.push_back(cell);
    for (const std::string& cell : cells_of(reported)) cells.push_back(cell);
    const double all = trials.seconds + reported.seconds;
    if (any_trial)
      cells.push_back(all > 0 ? significant(100 * trials.seconds / all, 2) + " %" : "–");
    table.row(cells);
  }
  return section(
      "cost", "What each arm cost",
      table.html_without_constants() +
          paragraph("Training alone, runs that diverged or were dropped as far as they "
                    "went. Work that runs share up to a step is counted in each of them.",
                    "note"));
}

std::string runs_section(const Study& study) {
  std::string folds;
  const size_t shown = std::min(kMostRuns, study.results.size());
  for (size_t i = 0; i < shown; ++i) folds += run_fold(study.results[i]);
  std::string html;
  if (shown < study.results.size()) {
    html += paragraph("The first " + std::to_string(shown) + " of " +
                      grouped(static_cast<int64_t>(study.results.size())) +
                      "; all are in <a href=\"runs.csv\">runs.csv</a>.");
  }
  return section("runs", "Runs",
                 html + details(counted(static_cast<int64_t>(shown), "run") + ", each with a fold",
                                "<div class=\"runs\">\n" + folds + "</div>\n"));
}

}  // namespace draftlab
