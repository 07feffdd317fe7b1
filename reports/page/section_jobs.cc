#include <algorithm>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/page/sections.h"
#include "reports/tables/jobs.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr size_t kMostRows = 60;

// Not simply done at the first attempt.
bool unusual(const Job& job) {
  return job.attempts.size() > 1 || job.attempts.back().outcome != "done";
}

// The jobs to draw, in order of start: all unusual ones as long as there is room, then the first.
std::vector<Job> shown(const std::vector<Job>& all) {
  std::vector<size_t> order(all.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_partition(order.begin(), order.end(), [&](size_t i) { return unusual(all[i]); });
  order.resize(std::min(order.size(), kMostRows));
  std::sort(order.begin(), order.end());
  std::vector<Job> some;
  for (const size_t i : order) some.push_back(all[i]);
  return some;
}

TimelineChart timeline(const std::vector<Job>& jobs) {
  TimelineChart chart;
  chart.text = {"timeline",
                "When each job ran",
                "A row for each training job with a bar for each attempt, from its start to its "
                "end, and how it ended.",
                "time since the first start",
                "",
                "jobs.csv"};
  double last = 0;
  for (const Job& job : jobs) {
    for (const WorkerEvent& attempt : job.attempts)
      last = std::max({last, attempt.start, attempt.end});
  }
  for (const Job& job : jobs) {
    TimelineRow row{job.name, {}};
    for (const WorkerEvent& attempt : job.attempts) {
      const double end = attempt.end == 0 ? last : attempt.end;
      const std::string ended =
          attempt.end == 0 ? "no end recorded"
                           : attempt.outcome + " after " + seconds_text(end - attempt.start);
      row.bars.push_back(
          {attempt.start, end, attempt.outcome,
           shorten(job.name, 60) + ": " + ended + ", " + counted(attempt.threads, "thread")});
    }
    chart.rows.push_back(std::move(row));
  }
  return chart;
}

}  // namespace

std::string jobs_section(const Study& study) {
  const std::vector<Job> all = jobs(study);
  if (all.empty()) return "";
  size_t attempts = 0;
  for (const Job& job : all) attempts += job.attempts.size();
  const TimelineChart chart = timeline(shown(all));
  std::string text = counted(static_cast<int64_t>(all.size()), "job") + " in " +
                     counted(static_cast<int64_t>(attempts), "attempt") +
                     ". A job trains one segment of a run; runs that agree up to a step share it.";
  if (all.size() > chart.rows.size()) {
    text += " Left out below: " + std::to_string(all.size() - chart.rows.size()) +
            " later ones that were done at the first attempt, or beyond the first " +
            std::to_string(kMostRows) + "; all are in <a href=\"jobs.csv\">jobs.csv</a>.";
  }
  return section("jobs", "Jobs", paragraph(text) + legend(chart) + figure(chart, "full"));
}

}  // namespace draftlab
