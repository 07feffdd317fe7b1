#include "programs/chosen_runs.h"

#include <algorithm>

#include "base/error.h"
#include "base/terminal_text.h"
#include "reports/text/words.h"
#include "runner/forget.h"
#include "runner/run_name.h"

namespace draftlab {

std::optional<Lease> lock_runs(const RunFolder& folder, bool dry_run) {
  if (dry_run) return std::nullopt;
  read_first_phase(folder);  // a lock would be made in any folder
  return std::optional<Lease>(std::in_place, folder.lock());
}

ChosenRuns choose_runs(const PlanRecord& plan, const std::vector<std::string>& words) {
  ChosenRuns chosen;
  for (const std::string& word : words) chosen.names.insert(find_run(plan, word).name);
  chosen.segments = own_segments(plan, chosen.names);
  for (const PlannedRun& run : plan.runs) {
    if (!chosen.names.contains(run.name) || chosen.segments.contains(run.segments.back())) continue;
    const auto other = std::ranges::find_if(plan.runs, [&](const PlannedRun& each) {
      return !chosen.names.contains(each.name) &&
             std::ranges::count(each.segments, run.segments.back()) > 0;
    });
    throw Error(run.name, "is trained by the segments of " + other->name +
                              " too, and nothing of it is its own; name both");
  }
  return chosen;
}

std::string text_of(const ChosenRuns& chosen, const PlanRecord& plan, const std::string& what) {
  std::string text;
  for (const PlannedRun& run : plan.runs) {
    if (!chosen.names.contains(run.name)) continue;
    const auto own = std::ranges::count_if(
        run.segments, [&](const std::string& id) { return chosen.segments.contains(id); });
    text += printable(run.name) + ": " + counted(own, "segment") + " " + what;
    if (own < static_cast<int64_t>(run.segments.size()))
      text += "; what it shares with other runs stays";
    text += "\n";
  }
  return text;
}

}  // namespace draftlab
