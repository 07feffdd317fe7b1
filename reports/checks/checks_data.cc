// Fairness checks: what the runs learned from and were measured on.
#include <cmath>
#include <map>
#include <set>

#include "base/number_text.h"
#include "reports/checks/agreement.h"
#include "reports/checks/checks.h"
#include "reports/stats/acceptance.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr double kManyEpochs = 10;  // each sequence visited so often, with new anchors every time

// The first step at which `a` and `b` had seen different data; -1: none. Where a row has no hash,
// the number of tokens stands in for it.
int64_t first_difference(const Result& a, const Result& b) {
  size_t j = 0;
  for (const EvaluationRow& row : a.held_out) {
    while (j < b.held_out.size() && b.held_out[j].step < row.step) ++j;
    if (j == b.held_out.size()) break;
    const EvaluationRow& other = b.held_out[j];
    if (other.step != row.step) continue;
    const bool hashed = !row.data_hash.empty() && !other.data_hash.empty();
    if (row.tokens != other.tokens || (hashed && row.data_hash != other.data_hash)) return row.step;
  }
  return -1;
}

JsonObject data_identity(const Result& run) {
  JsonObject object = to_json(run.config.drafter);
  object["labels"] = run.config.training.labels;
  object["store"] = run.config.store;
  object["training sequences"] = run.config.split.train;
  return object;
}

JsonObject evaluation_identity(const Result& run) {
  return {{"evaluation stride", run.config.evaluation.stride},
          {"evaluation steps",
           JsonArray(run.config.evaluation.steps.begin(), run.config.evaluation.steps.end())},
          {"held-out sequences", run.config.split.held_out},
          {"tuning sequences", run.config.split.tuning},
          {"what the split deals out as a whole", run.config.split.by}};
}

// The same where arms have other steps, since equal seconds are compared: each ends with its own.
JsonObject evaluation_but_steps(const Result& run) {
  JsonObject identity = evaluation_identity(run);
  identity.erase("evaluation steps");
  return identity;
}

// Nothing of a run that was not evaluated yet, which differs from no other.
JsonObject evaluated_identity(const Result& run) {
  if (run.held_out.empty()) return {};
  return {{"evaluated blocks", run.held_out.back().blocks},
          {"evaluated prompts", run.held_out.back().prompts}};
}

}  // namespace

Findings unequal_data(const Study& study) {
  struct Group {
    const Result* first;
    std::vector<const Result*> others = {};  // that saw something else
    int64_t step = 0;                        // by which the first of them had
  };
  std::map<std::pair<int64_t, int64_t>, Group> groups;  // by the seeds of data and noise
  int64_t unknown = 0;
  for (const Result& run : study.results) {
    if (run.held_out.empty()) continue;
    // Before the first step there is nothing to have seen.
    unknown += run.held_out.back().step > 0 && run.held_out.back().data_hash.empty();
    const auto [entry, added] =
        groups.try_emplace({run.seeds.data, run.seeds.noise}, Group{.first = &run});
    Group& group = entry->second;
    const int64_t step = first_difference(*group.first, run);
    if (step < 0) continue;
    if (group.others.empty()) group.step = step;
    group.others.push_back(&run);
  }
  Findings findings;
  for (const auto& [seeds, group] : groups) {
    if (group.others.empty()) continue;
    findings.push_back({Severity::kRefuse,
                        runs_text(group.others) + " had not seen the same data at step " +
                            std::to_string(group.step) + " as " + group.first->run +
                            ", which has the same seed; train both from one store with one "
                            "version of draftlab.",
                        arms_of(group.others)});
  }
  if (unknown > 0) {
    findings.push_back({Severity::kInform,
                        "For " + counted(unknown, "run") +
                            " of an older version nothing records which data they saw; only the "
                            "numbers of tokens were compared. Train anew to know.",
                        {}});
  }
  return findings;
}

Findings unequal_stores(const Study& study) {
  return disagreements(study, Severity::kRefuse, data_identity,
                       "the runs answer different questions; compare runs of one store and one "
                       "drafter.");
}

Findings unequal_initial_weights(const Study& study) {
  struct Group {
    const Result* first;
    std::vector<const Result*> others = {};
  };
  std::map<int64_t, Group> groups;  // by the seed of the weights
  int64_t unknown = 0;
  const auto hash = [](const Result& run) {
    return run.baselines ? run.baselines->initial_weights_hash : "";
  };
  // As text, so that equal NaNs are equal starts.
  const auto loss = [](const Result& run) {
    return number_text(run.first(Split::kHeldOut, Measure::kLoss));
  };
  for (const Result& run : study.results) {
    if (run.held_out.empty() || run.held_out.front().step != 0) continue;
    unknown += hash(run).empty();
    Group& group = groups.try_emplace(run.seeds.weights, Group{.first = &run}).first->second;
    const bool hashed = !hash(run).empty() && !hash(*group.first).empty();
    if (hashed ? hash(run) != hash(*group.first) : loss(run) != loss(*group.first))
      group.others.push_back(&run);
  }
  Findings findings;
  for (const auto& [seed, group] : groups) {
    if (group.others.empty()) continue;
    findings.push_back({Severity::kWarn,
                        runs_text(group.others) + " did not start from the same weights as " +
                            group.first->run + ", which has the same seed (held-out loss " +
                            loss(*group.others.front()) + " and " + loss(*group.first) +
                            " at step 0); train both with one version of draftlab.",
                        arms_of(group.others)});
  }
  if (unknown > 0) {
    findings.push_back({Severity::kInform,
                        "For " + counted(unknown, "run") +
                            " nothing records the initial weights; only the losses at step 0 were "
                            "compared. Train anew to know.",
                        {}});
  }
  return findings;
}

Findings unequal_evaluations(const Study& study) {
  const std::string advice = "runs measured differently cannot be compared; evaluate all alike.";
  const bool at_seconds = !std::isnan(budget_seconds(study.plan));
  Findings findings = disagreements(
      study, Severity::kRefuse, at_seconds ? evaluation_but_steps : evaluation_identity, advice);
  const Findings more = disagreements(study, Severity::kRefuse, evaluated_identity, advice);
  findings.insert(findings.end(), more.begin(), more.end());
  std::vector<const Result*> uneven;
  for (const Result& run : study.results) {
    for (const EvaluationRow& row : run.held_out) {
      const EvaluationRow& first = run.held_out.front();
      if (row.blocks == first.blocks && row.prompts == first.prompts) continue;
      uneven.push_back(&run);
      break;
    }
  }
  if (!uneven.empty()) {
    findings.push_back({Severity::kRefuse,
                        "The evaluations of " + runs_text(uneven) +
                            " are not all of the same blocks, so that their curves bend for "
                            "another reason than training; train again.",
                        arms_of(uneven)});
  }
  return findings;
}

Findings weak_acceptance(const Study& study) {
  int64_t unknown = 0, without_baseline = 0, fewest = -1;
  std::vector<const Result*> other_definition;
  for (const Result& run : study.results) {
    if (!run.done() || run.held_out.empty()) continue;
    const EvaluationRow& row = run.held_out.back();
    unknown += row.prompt_blocks.empty();
    const double joint = joint_acceptance_length(row.prefix_share);
    if (!row.prefix_share.empty() && std::abs(joint - row.acceptance_length) > 1e-6)
      other_definition.push_back(&run);
    without_baseline += !run.baselines.has_value();
    if (fewest < 0 || row.prompts < fewest) fewest = row.prompts;
  }
  Findings findings;
  if (!other_definition.empty()) {
    findings.push_back({Severity::kRefuse,
                        "The acceptance length of " + runs_text(other_definition) +
                            " is not 1 plus the shares of its prefixes, so another definition was "
                            "measured; train again with this version.",
                        arms_of(other_definition)});
  }
  if (fewest >= 0 && fewest < kFewPrompts) {
    findings.push_back({Severity::kWarn,
                        "Acceptance is measured on " + counted(fewest, "prompt") + ", fewer than " +
                            std::to_string(kFewPrompts) +
                            ": differences may be those of these prompts; hold out more.",
                        {}});
  }
  if (without_baseline > 0) {
    findings.push_back({Severity::kWarn,
                        counted(without_baseline, "run") +
                            " recorded no baseline, so that nothing shows what a drafter that "
                            "learned nothing would reach; train anew.",
                        {}});
  }
  if (unknown > 0) {
    findings.push_back({Severity::kInform,
                        "For " + counted(unknown, "run") +
                            " of an older version the counts of each prompt are missing, so that "
                            "acceptance lengths have no interval over prompts. Train anew for one.",
                        {}});
  }
  return findings;
}

Findings duplicate_sequences(const Study& study) {
  int64_t most = 0;
  std::string where;
  bool unknown = false, any = false;
  for (const Result& run : study.results) {
    if (!run.baselines) continue;
    any = true;
    unknown |= run.baselines->duplicates < 0;
    if (run.baselines->duplicates <= most) continue;
    most = run.baselines->duplicates;
    where = run.run;
  }
  if (most > 0) {
    return {{Severity::kRefuse,
             counted(most, "held-out sequence") + " of " + where + (most == 1 ? " is" : " are") +
                 " also in the training part, so that memory counts as skill; remove duplicates "
                 "from the prompts of the store.",
             {}}};
  }
  if (any && unknown) {
    return {
        {Severity::kInform,
         "Nobody has counted the held-out sequences that are also in the training part (runs of "
         "an older version). Train anew to know.",
         {}}};
  }
  return {};
}

Findings shared_seeds(const Study& study) {
  std::map<std::string, std::vector<std::string>> arms_by;  // what is shared
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() == nullptr || arm.chosen()->finished.size() < 2) continue;
    const auto& runs = arm.chosen()->finished;
    const auto distinct = [&](int64_t Seeds::*seed) {
      std::set<int64_t> values;
      for (const Result* run : runs) values.insert(run->seeds.*seed);
      return values.size();
    };
    std::string shared;
    if (distinct(&Seeds::weights) < runs.size()) shared = "initial weights";
    if (distinct(&Seeds::data) < runs.size())
      shared += (shared.empty() ? "" : " and ") + std::string("order of the data");
    if (!shared.empty()) arms_by[shared].push_back(arm.name);
  }
  Findings findings;
  for (const auto& [shared, arms] : arms_by) {
    findings.push_back({Severity::kRefuse,
                        "Seeds of " + joined(arms) + " share their " + shared +
                            ": the spread over them is smaller than that of a training repeated, "
                            "and a difference looks surer than it is. Give every seed its own.",
                        arms});
  }
  return findings;
}

Findings many_epochs(const Study& study) {
  double most = 0;
  const Result* example = nullptr;
  for (const Result& run : study.results) {
    const double epochs = epochs_after(run.config, static_cast<double>(run.config.training.steps));
    if (epochs <= most) continue;
    most = epochs;
    example = &run;
  }
  if (most <= kManyEpochs) return {};
  return {
      {Severity::kWarn,
       "Training sees each of its " + counted(example->config.split.train, "sequence") + " " +
           significant(most, 2) + " times (" + example->run + "), above " +
           number_text(kManyEpochs) +
           ": what is measured is how well an optimizer fits these few. Train on more sequences "
           "or for fewer steps.",
       {}}};
}

Findings unlabelled_steps(const Study& study) {
  std::map<int64_t, std::vector<const Result*>> runs_by;
  for (const Result& run : study.results) {
    if (run.unlabelled_steps > 0) runs_by[run.unlabelled_steps].push_back(&run);
  }
  Findings findings;
  for (const auto& [steps, runs] : runs_by) {
    findings.push_back(
        {Severity::kInform,
         counted(steps, "step") + " of " + grouped(runs.front()->steps) + " in " + runs_text(runs) +
             " had no label that counts, so that no gradient came of them; alike for all "
             "arms with the same data. A larger draft vocabulary or more anchors "
             "leave fewer.",
         {}});
  }
  return findings;
}

Findings near_copies(const Study& study) {
  constexpr double kShare = 0.2;  // of the held-out prompts, below which it says little
  std::vector<std::string> said;
  std::vector<int64_t> flags;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() == nullptr || arm.copy_of) continue;
    double matches[2] = {}, blocks[2] = {};  // without, and with a near copy in training
    for (const Result* run : arm.chosen()->finished) {
      if (!run->baselines || run->held_out.empty()) continue;
      const EvaluationRow& row = run->held_out.back();
      const std::vector<int64_t>& near = run->baselines->near_copies;
      if (near.empty() || near.size() != row.prompt_blocks.size()) continue;
      flags = near;
      for (size_t i = 0; i < near.size(); ++i) {
        matches[near[i]] += static_cast<double>(row.prompt_matches[i]);
        blocks[near[i]] += static_cast<double>(row.prompt_blocks[i]);
      }
    }
    const auto length = [&](int which) {
      return blocks[which] == 0 ? "none" : fixed(1 + matches[which] / blocks[which], 3);
    };
    if (blocks[0] + blocks[1] > 0) said.push_back(arm.name + " " + length(1) + " and " + length(0));
  }
  const auto copies = std::ranges::count(flags, 1);
  if (flags.empty() || static_cast<double>(copies) < kShare * static_cast<double>(flags.size()))
    return {};
  return {
      {Severity::kWarn,
       std::to_string(copies) + " of " + std::to_string(flags.size()) +
           " held-out prompts have a near copy among the training prompts (0.6 of the words of "
           "both), so that memory counts as skill. The acceptance length on prompts with one and "
           "without: " +
           listed(said) +
           ". Hold out whole kinds of prompts: \"by\": \"similarity\" in the sweep's split, or "
           "\"group\".",
       {}}};
}

}  // namespace draftlab
