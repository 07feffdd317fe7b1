#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "base/number_text.h"
#include "base/terminal_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "programs/execution.h"
#include "programs/readiness.h"
#include "programs/sweep_store.h"
#include "programs/worker_program.h"
#include "record/update_cost.h"
#include "reports/text/words.h"
#include "runner/estimate.h"
#include "runner/memory.h"
#include "runner/planner.h"
#include "runner/tuning.h"

namespace draftlab {
namespace {

constexpr char kHelp[] =
    "usage: draftlab plan SWEEP.json [--out DIR] [--store DIR] [--jobs N]\n"
    "                     [--set PATH=VALUE]... [--json]\n"
    "                     [--reuse DIR]... [--any-build]\n\n"
    "Shows what a sweep file would run, and runs and writes nothing.\n\n"
    "  draftlab plan sweeps/quick.json\n"
    "  draftlab plan sweeps/quick.json --out runs/quick   time from what has run there already\n"
    "  draftlab plan sweeps/quick.json --json | less      every resolved value\n";

void line(const char* key, const std::string& text) {
  std::string name = key;
  name.resize(10, ' ');
  std::cout << name << text << "\n";
}

std::string steps_text(const PlanRecord& plan) {
  const StepCount count = count_steps(plan);
  if (count.shared_segments == 0)
    return grouped(count.segment_steps) + "; no two runs share a segment";
  return grouped(count.segment_steps) + "; " + counted(count.shared_segments, "segment") +
         " shared, which saves " + grouped(count.run_steps - count.segment_steps) + " of " +
         grouped(count.run_steps);
}

std::string store_text(const Sweep& sweep, const SweepStore& store, int64_t hidden_size) {
  std::string text = store.planned.folder.string();
  if (!store.built) text = "to be built from " + sweep.store_specification.string() + " in " + text;
  text += "\n          " + grouped(store.planned.facts.records.value_or(0)) + " sequences, " +
          (store.built ? "" : "at most about ") + grouped(store.tokens) + " tokens, " +
          bytes_text(store.bytes(hidden_size));
  if (store.planned.facts.final_hidden)
    text += " (" + bytes_text(store.final_hidden_bytes(hidden_size)) + " of final hidden states)";
  if (store.built) text += ", hash " + store.planned.hash.substr(0, 16);
  return text;
}

std::string time_text(const PlanRecord& plan, const SweepStore& store,
                      const std::optional<std::string>& out, int jobs) {
  std::map<std::string, double> measured;
  if (out) measured = measured_seconds_per_step(RunFolder(*out), plan);
  const TimeEstimate estimate = estimate_time(plan, jobs, store.tokens_per_sequence(), measured);
  std::string text = "about " + duration_text(estimate.seconds) + " with " + counted(jobs, "job") +
                     (store.built ? "" : ", and the building of the store") + "\n          ";
  if (estimate.measured) return text + "from the segments that have run in " + *out;
  text += "from a count of operations at an assumed " +
          significant(assumed_flop_per_second(plan.segments[0].config.training) / 1e9, 2) +
          " GFLOP/s per worker, which can be wrong\n          by a factor of 3";
  if (!measured.empty()) text += "; of some steps from the segments that have run in " + *out;
  return text;
}

// Of the worker that needs most.
std::string memory_text(const PlanRecord& plan, const SweepStore& store, int jobs) {
  const WorkerMemory most = worker_memory(plan, store.tokens_per_sequence());
  std::string text = "about " + bytes_text(most.total()) + " a worker (" +
                     bytes_text(most.program) + " program, " + bytes_text(most.frozen) +
                     " embedding and head, " + bytes_text(most.training) +
                     " weights, gradients and state, " + bytes_text(most.step) + " a step)";
  if (plan.segments[0].config.training.device != "cpu")
    text += ", " + bytes_text(most.on_device()) + " of them on the GPU";
  text += "\n          " + counted(jobs, "worker") + " at once; " + bytes_text(available_memory()) +
          " are free";
  return text;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t side : shape) text += (text.empty() ? "" : " x ") + std::to_string(side);
  return text;
}

std::string cost_text(const UpdateCost& cost) {
  std::string text = bytes_text(cost.state_bytes) + " of optimizer state";
  if (cost.products > 0) text += "; " + counted(cost.products, "matrix product");
  if (cost.flop > 0)
    text += (cost.products > 0 ? ", " : "; ") + significant(cost.flop / 1e9, 3) + " GFLOP";
  return text + (cost.flop > 0 ? " a step" : "");
}

// The trials that are planned and, as an example of what follows, each arm's first points as the
// best.
PlanRecord with_final_runs(PlanRecord plan, const Sweep& sweep, const SweepStore& store) {
  if (!sweep.tuning) return plan;
  std::set<std::string> known;
  for (const PlannedSegment& segment : plan.segments) known.insert(segment.id);
  for (const PlanRecord& phase : example_phases(sweep, store.planned)) {
    for (const PlannedSegment& segment : phase.segments) {
      if (known.insert(segment.id).second) plan.segments.push_back(segment);
    }
    plan.runs.insert(plan.runs.end(), phase.runs.begin(), phase.runs.end());
  }
  return plan;
}

std::string tuning_text(const Sweep& sweep, const PlanRecord& trials) {
  std::string text =
      "first " + counted(static_cast<int64_t>(trials.runs.size()), "trial") + ": " +
      counted(static_cast<int64_t>(sweep.arms[0].points.size()), "setting") + " an arm, " +
      counted(static_cast<int64_t>(sweep.tuning->seeds.size()), "tuning seed") + "; ";
  if (sweep.tuning->trials > 0) text += "drawn from ranges as points of a Sobol sequence; ";
  if (const auto& halving = sweep.tuning->halving) {
    int64_t points = static_cast<int64_t>(sweep.arms[0].points.size());
    for (size_t rung = 0; rung < halving->at.size(); ++rung) {
      points = halving->kept(points);
      text += "\n          the best " + std::to_string(points) + " of each arm go on from step " +
              std::to_string(halving->step(rung, sweep.arms[0].training.steps)) + "; ";
    }
  }
  const bool listed =
      std::ranges::any_of(sweep.arms, [](const SweepArm& arm) { return !arm.searched; });
  if (sweep.tuning->extend > 0 && listed) {
    text += "where the best learning rate is the\n          smallest or largest, up to " +
            counted(sweep.tuning->extend, "further one") + ", not counted here; ";
  }
  return text + "then each arm's best\n          setting, by its " +
         (sweep.target.metric.empty() ? "acceptance_length" : sweep.target.metric) +
         " on the tuning split, with every seed";
}

// Once per arm; costs and rates are those of its first point.
void print_arms(const Sweep& sweep, const PlanRecord& plan) {
  std::map<std::string, int64_t> runs;
  for (const PlannedRun& run : plan.runs) ++runs[run.arm];
  std::map<std::string, const PlannedSegment*> by_id;
  for (const PlannedSegment& segment : plan.segments) by_id[segment.id] = &segment;
  for (const SweepArm& arm : sweep.arms) {
    const auto run = std::find_if(plan.runs.begin(), plan.runs.end(),
                                  [&](const PlannedRun& each) { return each.arm == arm.name; });
    std::cout << "\n" << printable(arm.name) << ": " << counted(runs[arm.name], "run");
    if (arm.points.size() > 1)
      std::cout << "; the first of " << arm.points.size() << " points is shown";
    const SegmentConfig& config = by_id.at(run->segments.back())->config;
    std::cout << "\n  " << canonical(to_json(config.optimizer)) << "\n  "
              << cost_text(update_cost(config.routing, config.optimizer)) << "\n";
    std::vector<std::vector<std::string>> rows;
    for (const Route& route : config.routing) {
      const bool frozen = route.rule == "frozen";
      rows.push_back({"  " + route.name, shape_text(route.shape), split_text(route), route.rule,
                      frozen ? "-" : rates_text(route),
                      frozen ? "-" : number_text(route.weight_decay)});
    }
    std::cout << table({"  tensor", "shape", "split", "rule", "rate", "decay"}, rows,
                       {false, false, false, false, true, true});
  }
}

}  // namespace

int plan_command(const Words& words) {
  CommandLine line_of(kHelp);
  line_of.argument("SWEEP.json");
  line_of.option("out", "DIR", "the folder it would run in: its free space, what has run there");
  line_of.option("store", "DIR",
                 "where the store lies or would be built; default: DIR/store of --out");
  line_of.options(
      "set", "PATH=VALUE",
      "changes a key of the sweep, as training.steps=100 or arms[Muon].optimizer.momentum=0.9; "
      "may be repeated");
  line_of.option("jobs", "N",
                 "workers at once, for the time; default: cores / threads of a worker");
  line_of.options("reuse", "DIR", "says how much could be taken from this result folder");
  line_of.flag("any-build", "with --reuse: also what another build of draftlab trained");
  line_of.flag("json", "print the whole plan, every value resolved, as JSON");
  if (!line_of.parse(words)) return 0;
  const auto out = line_of.optional_text("out");
  const RunFolder folder(out.value_or("OUT"));
  if (out) require_writable(folder.root());
  const Reuse reuse = reuse_of(line_of);
  const Sweep sweep = read_sweep(line_of.text("SWEEP.json"), line_of.texts("set"));
  const SweepStore store = find_store(sweep, folder.store(), line_of.optional_text("store"));
  const PlanRecord plan = make_plan(sweep, store.planned);
  const PlanRecord all = with_final_runs(plan, sweep, store);
  const int jobs =
      static_cast<int>(line_of.whole_number("jobs", 1, 10000).value_or(default_jobs(plan)));
  if (line_of.given("json")) {
    std::cout << pretty(to_json(plan));
    return 0;
  }
  if (out) require_place(folder, plan, store, line_of.given("store"));
  require_means(plan, store, jobs, std::cout);
  if (store.built) require_worker_split(store.planned.folder, sweep.split);
  const int64_t hidden_size = plan.segments[0].config.drafter.hidden_size;
  const auto arms = static_cast<int64_t>(sweep.arms.size()),
             seeds = static_cast<int64_t>(sweep.seeds.size());
  line("sweep", printable(plan.name) + " (" + printable(plan.sweep_file) + ")");
  for (const std::string& change : plan.changes) line("set", printable(change));
  line("runs", grouped(static_cast<int64_t>(all.runs.size())) + ": " + counted(arms, "arm") + ", " +
                   counted(seeds, "seed"));
  if (sweep.tuning) line("tuning", tuning_text(sweep, plan));
  if (sweep.equal_seconds && !sweep.equal_seconds->is_resolved()) {
    line("compare",
         "at equal seconds: `run` times a step of each arm alone before anything else and gives it "
         "the\n          steps that fit the budget; shown are those of the file");
  }
  line("segments", grouped(static_cast<int64_t>(all.segments.size())));
  line("steps", steps_text(all));
  line("store", store_text(sweep, store, hidden_size));
  if (!reuse.folders.empty()) std::cout << reuse_text(reuse, folder, plan);
  line("disk", bytes_text(disk_bytes(all) + (store.built ? 0 : store.bytes(hidden_size))) +
                   " at most; " + bytes_text(free_space(out.value_or("."))) + " are free");
  line("memory", memory_text(all, store, jobs));
  line("time", time_text(all, store, out, jobs));
  if (!plan.target.metric.empty()) {
    line("target", plan.target.metric +
                       (plan.target.metric == "val_loss" ? " at most " : " at least ") +
                       number_text(plan.target.value));
  }
  for (const std::string& notice : plan.notices) line("notice", printable(notice));
  print_arms(sweep, plan);
  return 0;
}

}  // namespace draftlab
