#include <iostream>

#include "base/error.h"
#include "base/lease.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "programs/execution.h"
#include "programs/other_builds.h"
#include "runner/difference.h"
#include "runner/sweep_changes.h"
#include "store/manifest.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

constexpr char kHelp[] =
    "usage: draftlab resume DIR [--jobs N]\n\n"
    "Runs what the plan frozen in DIR/plan.json still lacks: what never started, failed or was "
    "interrupted,\n"
    "from the last checkpoint. Writes the report. If the sweep file has changed since, says how; "
    "the frozen\n"
    "plan counts.\n\n"
    "  draftlab resume runs/quick\n";

void tell_changes(const PlanRecord& plan) {
  if (!fs::exists(plan.sweep_file)) return;
  std::string changes;
  try {
    changes = text_of(
        find_differences(plan.sweep, with_changes(read_json(plan.sweep_file), plan.changes)));
  } catch (const Error& error) {
    changes = "  it cannot be read: " + std::string(error.what()) + "\n";
  }
  if (changes.empty()) return;
  std::cout << "notice: " << plan.sweep_file
            << " has changed since the plan was frozen; the frozen plan counts (frozen -> now):\n"
            << changes;
}

// The data must be that of the plan: segments that are done were trained on it.
void check_store(PlanRecord& plan, const RunFolder& folder) {
  // The folder may have been moved with its store.
  if (!fs::exists(manifest_file(plan.store_folder)) && fs::exists(manifest_file(folder.store()))) {
    plan.store_folder = fs::absolute(folder.store());
  }
  const std::string hash = read_manifest(plan.store_folder).hash();
  if (hash == plan.store_hash) return;
  throw Error(plan.store_folder.string(),
              "holds another store (" + hash.substr(0, 16) + ") than the plan was frozen with (" +
                  plan.store_hash.substr(0, 16) + "); put that one back");
}

}  // namespace

int resume_plan(const RunFolder& folder, PlanRecord plan, std::optional<int64_t> jobs) {
  tell_changes(plan);
  check_store(plan, folder);
  tell_other_builds(folder, plan, std::cout);
  return execute_and_report(folder, std::move(plan), jobs);
}

int resume_command(const Words& words) {
  CommandLine line(kHelp);
  line.argument("DIR");
  line.option("jobs", "N",
              "workers at once; never changes a result; default: cores / threads of a worker");
  if (!line.parse(words)) return 0;
  const auto jobs = line.whole_number("jobs", 1, 10000);
  const RunFolder folder(line.text("DIR"));
  PlanRecord plan = read_plan(folder);
  const Lease lock(folder.lock());
  return resume_plan(folder, std::move(plan), jobs);
}

}  // namespace draftlab
