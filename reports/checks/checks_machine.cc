// Fairness checks: where and with what the runs were made, and what their seconds are.
#include <algorithm>
#include <cmath>
#include <functional>

#include "base/number_text.h"
#include "record/option.h"
#include "reports/checks/agreement.h"
#include "reports/checks/checks.h"
#include "reports/study/probe.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// Where the run's seconds were measured, at its end.
JsonObject machine(const Result& run) {
  if (run.seconds_from_probe) return to_json(run.probe->machine);
  return run.lives.empty() ? JsonObject() : to_json(run.lives.back().machine);
}

JsonObject build(const Result& run) {
  return run.lives.empty() ? JsonObject() : run.lives.back().build;
}

// Runs that began with other facts than they ended with, and what changed first: "cpu X, then Y".
struct Moved {
  std::vector<const Result*> runs;
  std::string change;  // of the first one
};

Moved moved(const Study& study, const std::function<JsonObject(const Life&)>& facts) {
  Moved moved;
  for (const Result& run : study.results) {
    std::string change;
    for (size_t i = 1; i < run.lives.size() && change.empty(); ++i) {
      const JsonObject before = facts(run.lives[i - 1]), after = facts(run.lives[i]);
      for (const auto& fact : after) {
        const Json* old = before.if_contains(fact.key());
        if (old != nullptr && *old == fact.value()) continue;
        change = std::string(fact.key()) + " " + (old == nullptr ? "unknown" : option_text(*old)) +
                 ", then " + option_text(fact.value());
        break;
      }
    }
    if (change.empty()) continue;
    if (moved.runs.empty()) moved.change = change;
    moved.runs.push_back(&run);
  }
  return moved;
}

JsonObject machine_of(const Life& life) { return to_json(life.machine); }
JsonObject build_of(const Life& life) { return life.build; }

// Steps of one arm that were timed alone and still take different times: something else ran.
Findings unsteady_probes(const std::vector<const Result*>& runs) {
  constexpr double kSteady = 0.1;
  std::vector<std::string> arms, texts;
  for (const Result* run : runs) {
    const StepTime time = step_time(*run->probe);
    if (!(time.spread() > kSteady) || std::ranges::count(arms, run->arm) > 0) continue;
    arms.push_back(run->arm);
    texts.push_back(run->arm + " by " + significant(100 * time.spread(), 2) + " %");
  }
  if (arms.empty()) return {};
  return {{Severity::kWarn,
           "Steps were timed alone, and yet their quartiles differ: " + joined(texts) +
               " of the median. Something else used the machine; remove the timing.json files "
               "and `draftlab resume` while it is quiet.",
           arms, true}};
}

// Runs of which a notable part was no training at all, though it is on their clock.
Findings paused_runs(const Study& study) {
  constexpr double kNotable = 0.1;
  std::vector<const Result*> paused;
  Pause longest;
  for (const Result& run : study.results) {
    double lost = 0;
    for (const Pause& pause : run.pauses) lost += pause.seconds - pause.usual;
    if (!(lost > kNotable * run.train_seconds)) continue;
    paused.push_back(&run);
    if (paused.size() > 1) continue;
    longest = *std::ranges::max_element(run.pauses, {}, &Pause::seconds);
  }
  if (paused.empty()) return {};
  return {{Severity::kWarn,
           "Step " + std::to_string(longest.step) + " of " + runs_text({paused.front()}) +
               " took " + seconds_text(longest.seconds) + ", where such a step takes " +
               seconds_text(longest.usual) +
               ": the process was stopped, or the machine stood still or swapped. Such pauses are "
               "more than a tenth of the seconds of " +
               runs_text(paused) +
               "; look at steps and tokens, or train again with `draftlab restart`.",
           arms_of(paused), true}};
}

}  // namespace

Findings unequal_machines(const Study& study) {
  Findings findings =
      disagreements(study, Severity::kWarn, machine,
                    "seconds on different machines do not compare; look at steps and tokens, or "
                    "train all runs on one kind of machine.");
  Moved elsewhere = moved(study, machine_of);
  std::erase_if(elsewhere.runs, [](const Result* run) { return run->seconds_from_probe; });
  if (!elsewhere.runs.empty()) {
    findings.push_back({Severity::kWarn,
                        runs_text(elsewhere.runs) + " went on on another machine (" +
                            elsewhere.change +
                            "), so that seconds of both are added up; look at steps and tokens, "
                            "or train again in one sitting.",
                        arms_of(elsewhere.runs)});
  }
  for (FairnessFinding& finding : findings) finding.by_time_only = true;
  return findings;
}

Findings uneven_clock(const Study& study) {
  std::vector<const Result*> off;
  for (const Result& run : study.results) {
    if (!run.done() || run.held_out.empty()) continue;
    const double seconds = run.held_out.back().train_seconds;
    if (!(std::abs(seconds - run.train_seconds) <= 0.01 * run.train_seconds + 1e-6))
      off.push_back(&run);
  }
  Findings findings;
  if (!off.empty()) {
    findings.push_back({Severity::kWarn,
                        "The last evaluation of " + runs_text(off) + " is stamped " +
                            seconds_text(off.front()->held_out.back().train_seconds) +
                            ", but its training steps took " +
                            seconds_text(off.front()->train_seconds) +
                            ": something else is on the clock, or rows are missing; train it "
                            "again.",
                        arms_of(off), true});
  }
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const double data = arm.chosen()->data_per_step.estimate.mean;
    const double step = arm.chosen()->seconds_per_step.estimate.mean;
    if (!(data > 0.1 * step)) continue;
    findings.push_back({Severity::kWarn,
                        "Steps of " + arm.name + " spend " + significant(100 * data / step, 2) +
                            " % of their time waiting for data, which says nothing about the "
                            "optimizer; compare optimizer seconds, or put the store on a faster "
                            "disk.",
                        {arm.name},
                        true});
  }
  const Findings paused = paused_runs(study);
  findings.insert(findings.end(), paused.begin(), paused.end());
  return findings;
}

Findings shared_machines(const Study& study) {
  std::vector<const Result*> shared, probed;
  int64_t unknown = 0;
  for (const Result& result : study.results) {
    if (result.steps == 0 || result.phase == kTrial) continue;
    if (result.seconds_from_probe) {
      probed.push_back(&result);
    } else if (result.alone == false) {
      shared.push_back(&result);
    }
    unknown += !result.alone.has_value();
  }
  Findings findings = unsteady_probes(probed);
  if (!shared.empty()) {
    findings.push_back(
        {Severity::kWarn,
         counted(static_cast<int64_t>(shared.size()), "run") +
             " shared the machine with another run while training (" + runs_text(shared) +
             "); seconds measured in company are not seconds measured alone, so "
             "every comparison by time is rough. `draftlab resume` times each arm alone "
             "once all runs are done; --jobs 1 trains them so.",
         arms_of(shared), true});
  }
  if (unknown > 0) {
    findings.push_back({Severity::kInform,
                        "For " + counted(unknown, "run") +
                            " nothing records whether another ran beside it, so seconds may be "
                            "those of a shared machine.",
                        {},
                        true});
  }
  return findings;
}

Findings unequal_builds(const Study& study) {
  Findings findings =
      disagreements(study, Severity::kWarn, build,
                    "a difference may come from the program; train all runs with one build.");
  const Moved rebuilt = moved(study, build_of);
  if (!rebuilt.runs.empty()) {
    findings.push_back({Severity::kWarn,
                        runs_text(rebuilt.runs) + " went on with another build (" + rebuilt.change +
                            "); a difference may come from the program: train again with one "
                            "build.",
                        arms_of(rebuilt.runs)});
  }
  return findings;
}

Findings resumed_runs(const Study& study) {
  std::vector<const Result*> cpu, cuda, elsewhere, unknown;
  for (const Result& run : study.results) {
    if (!run.resumed) continue;
    const auto differs = [&](const Life& life) {
      return life.machine != run.lives.front().machine || life.build != run.lives.front().build;
    };
    const auto without_host = [](const Life& life) { return life.host.empty(); };
    (run.config.training.device == "cuda"           ? cuda
     : std::ranges::any_of(run.lives, differs)      ? elsewhere
     : std::ranges::any_of(run.lives, without_host) ? unknown
                                                    : cpu)
        .push_back(&run);
  }
  Findings findings;
  if (!cuda.empty()) {
    findings.push_back({Severity::kWarn,
                        runs_text(cuda) +
                            " stopped and went on, on a GPU, where the bits of a resumed run are "
                            "not those of an uninterrupted one; train again where it matters.",
                        arms_of(cuda)});
  }
  if (!elsewhere.empty()) {
    findings.push_back({Severity::kWarn,
                        runs_text(elsewhere) +
                            " stopped and went on, on another machine or with another build (F18 "
                            "and F27 say which), so the bits need not be those of an "
                            "uninterrupted run; train again where it matters.",
                        arms_of(elsewhere)});
  }
  if (!unknown.empty()) {
    findings.push_back({Severity::kInform,
                        runs_text(unknown) +
                            " stopped and went on, and this folder of an older version does not "
                            "say on which machine and with which build they began: they equal "
                            "uninterrupted runs only if those were the same.",
                        arms_of(unknown)});
  }
  if (!cpu.empty()) {
    findings.push_back({Severity::kInform,
                        runs_text(cpu) +
                            " stopped and went on; on the CPU a resumed run equals an "
                            "uninterrupted one bit for bit, only its seconds are those of two "
                            "sittings.",
                        arms_of(cpu)});
  }
  return findings;
}

}  // namespace draftlab
