#include <iostream>

#include "base/error.h"
#include "base/file.h"
#include "base/lease.h"
#include "base/terminal_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "programs/equal_seconds_timing.h"
#include "programs/execution.h"
#include "programs/other_builds.h"
#include "programs/readiness.h"
#include "programs/sweep_store.h"
#include "programs/worker_program.h"
#include "runner/difference.h"
#include "runner/planner.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

constexpr char kHelp[] =
    "usage: draftlab run SWEEP.json --out DIR [--jobs N] [--store DIR]\n"
    "                    [--set PATH=VALUE]... [--again]\n"
    "                    [--reuse DIR]... [--any-build]\n\n"
    "Builds the store if it is not there, freezes the plan in DIR/plan.json, runs it, and writes\n"
    "DIR/report/index.html. The same command again goes on where it stopped; what is done is "
    "kept; --again trains anew what another build of draftlab has done.\n"
    "A sweep with \"compare\": \"seconds\" times a step of each arm alone first and gives it the "
    "steps that fit.\n"
    "After Ctrl-C the workers write a checkpoint, the report is written as far as it goes, and "
    "the\n"
    "command ends with status 1; a second Ctrl-C kills the workers.\n\n"
    "  draftlab run sweeps/quick.json --out runs/quick\n"
    "  draftlab run sweeps/standard.json --out runs/standard --jobs 2 --store stores/smollm2_600\n"
    "  draftlab run sweeps/more_seeds.json --out runs/more --reuse runs/standard\n";

// Frozen plans are for good: another sweep needs another folder.
void require_same(const PlanRecord& frozen, const PlanRecord& now, const RunFolder& folder) {
  const auto found = find_differences(frozen, now);
  if (found.empty()) return;
  throw Error(folder.plan().string(),
              "was frozen from another sweep; what differs (frozen -> now):\n" + text_of(found) +
                  "run it with another --out (and --reuse " + folder.root().string() +
                  ", which takes from it all that is the same), or go on with the frozen plan: "
                  "draftlab resume " +
                  folder.root().string());
}

void print_notices(const PlanRecord& plan) {
  for (const std::string& notice : plan.notices)
    std::cout << "notice: " << printable(notice) << "\n";
}

}  // namespace

int run_command(const Words& words) {
  CommandLine line(kHelp);
  line.argument("SWEEP.json");
  line.option("out", "DIR", "the folder of the results; made if it is not there");
  line.options(
      "set", "PATH=VALUE",
      "changes a key of the sweep, as training.steps=100 or arms[Muon].optimizer.momentum=0.9; "
      "may be repeated");
  line.option("jobs", "N",
              "workers at once; never changes a result; default: cores / threads of a worker");
  line.option("store", "DIR", "where the store lies or is built; default: DIR/store");
  line.options(
      "reuse", "DIR",
      "takes segments that this result folder has finished instead of training them; may be "
      "repeated");
  line.flag("any-build", "with --reuse: also what another build of draftlab trained");
  line.flag("again", "trains anew what another build of draftlab has done in DIR");
  if (!line.parse(words)) return 0;
  if (!line.given("out")) throw UsageError("--out DIR is missing: where shall the results go?");
  const auto jobs = line.whole_number("jobs", 1, 10000);

  const Reuse reuse = reuse_of(line);
  // All that can be wrong with the sweep is found before anything is written.
  const RunFolder folder(line.text("out"));
  require_writable(folder.root());
  Sweep sweep = read_sweep(line.text("SWEEP.json"), line.texts("set"));
  const auto chosen_store = line.optional_text("store");
  SweepStore store = find_store(sweep, folder.store(), chosen_store);
  PlanRecord plan = make_plan(sweep, store.planned);
  if (!fs::exists(folder.plan())) {
    require_place(folder, plan, store, chosen_store.has_value());
    require_means(plan, store, jobs ? static_cast<int>(*jobs) : default_jobs(plan), std::cout);
  }
  make_folder(folder.root());
  const Lease lock(folder.lock());
  if (!store.built) {
    build_store_with_worker(sweep.store_specification, store.planned.folder);
    store = find_store(sweep, folder.store(), chosen_store);
    plan = make_plan(sweep, store.planned);
  }
  if (!fs::exists(folder.plan())) require_worker_split(store.planned.folder, sweep.split);
  if (sweep.equal_seconds) {
    Sweep resolved =
        parse_sweep(with_step_seconds(sweep, store.planned, folder, std::cout), sweep.file);
    resolved.changes = sweep.changes;
    sweep = std::move(resolved);
    plan = make_plan(sweep, store.planned);
  }
  if (fs::exists(folder.plan())) {
    require_same(read_first_phase(folder), plan, folder);
    plan = read_plan(folder);
    if (line.given("again")) {
      plan = forget_other_builds(folder, plan, std::cout);
    } else {
      tell_other_builds(folder, plan, std::cout);
    }
  } else {
    write_plan(folder.plan(), plan);
  }
  print_notices(plan);
  return execute_and_report(folder, plan, jobs, reuse);
}

}  // namespace draftlab
