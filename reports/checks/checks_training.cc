// Fairness checks: what else differs in how the runs were trained.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/number_text.h"
#include "record/optimizer_kind.h"
#include "record/option.h"
#include "record/schedule.h"
#include "reports/checks/agreement.h"
#include "reports/checks/checks.h"
#include "reports/study/step_size.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

JsonObject training_identity(const Result& run) {
  const TrainingConfig& training = run.config.training;
  return {{"sequences per step", training.sequences_per_step},
          {"anchors", training.anchors},
          {"clip", training.clip},
          {"gamma", training.gamma},
          {"device", training.device}};
}

JsonObject loss_identity(const Result& run) {
  return {{"training loss", loss_text(run.config.training.loss)}};
}

JsonObject schedule_identity(const Result& run) {
  const TrainingConfig& training = run.config.training;
  return {{"training steps", training.steps},
          {"schedule", training.schedule},
          {"warm-up", training.warmup},
          {"start of the schedule", run.config.start.schedule_from}};
}

// The same where arms have as many steps as fit a budget of seconds.
JsonObject schedule_but_steps(const Result& run) {
  JsonObject identity = schedule_identity(run);
  identity.erase("training steps");
  return identity;
}

// Chosen settings that trained for other seconds than the budget.
Findings missed_budget(const Study& study) {
  constexpr double kSlack = 0.1;
  const double budget = budget_seconds(study.plan);
  std::vector<std::string> arms, said;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const double seconds = arm.chosen()->train_seconds.estimate.mean;
    if (std::isnan(seconds) || std::abs(seconds - budget) <= kSlack * budget) continue;
    arms.push_back(arm.name);
    said.push_back(arm.name + " for " + seconds_text(seconds));
  }
  if (arms.empty()) return {};
  return {{Severity::kWarn,
           "The budget is " + seconds_text(budget) + " of training, but " + joined(said) +
               " trained: their steps took other seconds than when they were timed. Run on a quiet "
               "machine, with one job.",
           arms}};
}

// Arms whose schedule still runs when the fastest run ends.
Findings read_before_the_end(const Study& study) {
  constexpr double kDown = 0.01;  // of the peak: what is left of the rate changes little
  const double seconds = study.summary.equal_seconds;
  std::vector<std::string> arms, where;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() == nullptr) continue;
    for (const Result* run : arm.chosen()->finished) {
      if (run->held_out.empty() || !(run->held_out.back().train_seconds > seconds)) continue;
      const int64_t step = std::llround(static_cast<double>(run->steps) * seconds /
                                        run->held_out.back().train_seconds);
      const Schedule schedule = schedule_of(run->config.training, run->config.start.schedule_from);
      if (!schedule.comes_down() || schedule.is_below(kDown, step)) continue;
      arms.push_back(arm.name);
      where.push_back(arm.name + " at about step " + grouped(step) + " of " + grouped(run->steps));
      break;
    }
  }
  if (arms.empty()) return {};
  FairnessFinding finding{
      Severity::kRefuse,
      "When the fastest run ends, after " + seconds_text(seconds) +
          ", the schedule still runs for " + joined(where) +
          "; losses fall most while the rate comes down, so equal seconds name no winner. A sweep "
          "with "
          "\"compare\": \"seconds\" gives each arm the steps that fit; or compare the time to the "
          "target.",
      arms};
  finding.by_time_only = true;
  return {finding};
}

// The object of the arm's optimizer as its sweep file states it; null if the plan does not say.
const JsonObject* stated_optimizer(const Json& sweep_or_list, const std::string& arm) {
  if (const JsonArray* sweeps = sweep_or_list.if_array()) {
    for (const Json& one : *sweeps) {
      if (const JsonObject* stated = stated_optimizer(one, arm)) return stated;
    }
    return nullptr;
  }
  const JsonObject* sweep = sweep_or_list.if_object();
  const Json* arms = sweep == nullptr ? nullptr : sweep->if_contains("arms");
  if (arms == nullptr || !arms->is_array()) return nullptr;
  for (const Json& one : arms->get_array()) {
    const JsonObject* object = one.if_object();
    if (object == nullptr || !object->contains("name") || object->at("name") != Json(arm)) continue;
    const Json* optimizer = object->if_contains("optimizer");
    if (const Json* switches = object->if_contains("switches"); switches && switches->is_array()) {
      for (const Json& change : switches->get_array()) {
        const JsonObject* fields = change.if_object();
        const Json* next = fields == nullptr ? nullptr : fields->if_contains("optimizer");
        if (next != nullptr) optimizer = next;
      }
    }
    return optimizer == nullptr ? nullptr : optimizer->if_object();
  }
  return nullptr;
}

bool states(const JsonObject& optimizer, const std::string& key) {
  const size_t dot = key.find('.');
  const Json* value = optimizer.if_contains(key.substr(0, dot));
  if (value == nullptr || dot == std::string::npos) return value != nullptr;
  return value->is_object() && states(value->get_object(), key.substr(dot + 1));
}

// The same optimizer with every number left to its default; what is chosen by name stays.
OptimizerConfig defaults_of(const OptimizerConfig& optimizer) {
  JsonObject stated{{"kind", optimizer.kind}, {"learning_rate", optimizer.learning_rate()}};
  for (const auto& option : optimizer.options) {
    if (option.value().is_string() || option.value() == Json(true))
      stated[option.key()] = option.value();
  }
  return parse_optimizer_config(stated, optimizer.kind);
}

bool takes_vectors(const Result& run) {
  return optimizer_kind(run.optimizer.kind, run.run).takes_vectors;
}

}  // namespace

Findings unequal_training(const Study& study) {
  Findings findings = disagreements(study, Severity::kRefuse, training_identity,
                                    "no sweep varies it on purpose; train all runs alike.");
  for (FairnessFinding& finding :
       disagreements(study, Severity::kInform, loss_identity,
                     "held-out loss and acceptance are the same measures for all runs, losses and "
                     "gradient norms of the training are not, and each loss has a best rate of "
                     "its own.")) {
    findings.push_back(std::move(finding));
  }
  return findings;
}

Findings unequal_schedules(const Study& study) {
  if (!std::isnan(budget_seconds(study.plan))) {
    Findings findings = disagreements(study, Severity::kRefuse, schedule_but_steps,
                                      "a loss means something else under another schedule; give "
                                      "all runs one.");
    for (FairnessFinding& finding : missed_budget(study)) findings.push_back(std::move(finding));
    return findings;
  }
  Findings findings = disagreements(study, Severity::kRefuse, schedule_identity,
                                    "a loss means something else at another horizon; give all runs "
                                    "one schedule.");
  for (FairnessFinding& finding : read_before_the_end(study))
    findings.push_back(std::move(finding));
  return findings;
}

Findings wrong_routing(const Study& study) {
  Findings findings;
  std::map<std::string, std::vector<std::string>> frozen;  // arms by the tensors they do not train
  for (const Arm& arm : study.summary.arms) {
    const Result& run = example_run(arm);
    if (run.config.routing.empty()) continue;  // nothing planned
    const OptimizerKind& kind = optimizer_kind(run.optimizer.kind, run.run);
    int64_t own = 0;
    std::vector<std::string> vectors, left, still;
    for (const Route& route : run.config.routing) {
      const bool matrix = route.shape.size() == 2 && std::ranges::min(route.shape) > 1;
      own += route.rule == kind.name;
      if (route.rule == kind.name && !matrix && !takes_vectors(run)) vectors.push_back(route.name);
      if (route.rule == "adamw" && matrix && kind.name != "adamw") left.push_back(route.name);
      if (route.rule == "frozen") still.push_back(route.name);
    }
    frozen[joined(still)].push_back(arm.name);
    if (own == 0) {
      findings.push_back({Severity::kRefuse,
                          "No tensor of " + arm.name + " is updated by " + kind.name +
                              ", so that it is not what its name says; correct its routing.",
                          {arm.name}});
    }
    if (!vectors.empty()) {
      findings.push_back({Severity::kRefuse,
                          joined(vectors) + " of " + arm.name + " went to " + kind.name +
                              ", which is a rule for matrices; route vectors to adamw.",
                          {arm.name}});
    }
    if (!left.empty() && own > 0) {
      findings.push_back({Severity::kInform,
                          arm.name + " updates " + joined(left) +
                              " by AdamW, as its routing says: part of its result is AdamW's.",
                          {arm.name}});
    }
  }
  if (frozen.size() > 1) {
    std::vector<std::string> parts;
    for (const auto& [tensors, arms] : frozen)
      parts.push_back((tensors.empty() ? "no tensor" : tensors) + " by " + joined(arms));
    findings.push_back({Severity::kRefuse,
                        "Not all arms train the same tensors; left as they were: " + listed(parts) +
                            ". Freeze the same ones everywhere.",
                        {}});
  }
  return findings;
}

Findings unstated_options(const Study& study) {
  // What rates and decays an arm has when nobody says so is where comparisons go wrong unseen.
  Findings findings;
  for (const char* key :
       {"learning_rate", "weight_decay", "adamw.learning_rate", "adamw.weight_decay"}) {
    std::map<std::string, std::vector<std::string>> arms_by_value;
    std::vector<std::string> unstated;
    for (const Arm& arm : study.summary.arms) {
      const OptimizerConfig& optimizer = example_run(arm).optimizer;
      const JsonObject* stated = stated_optimizer(study.plan.sweep, arm.name);
      if (!optimizer.has(key) || stated == nullptr) continue;
      arms_by_value[option_text(*optimizer.find(key))].push_back(arm.name);
      if (!states(*stated, key)) unstated.push_back(arm.name);
    }
    if (unstated.empty() || arms_by_value.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [value, arms] : arms_by_value) parts.push_back(value + " for " + joined(arms));
    findings.push_back({Severity::kWarn,
                        "The sweep does not state " + std::string(key) + " of " + joined(unstated) +
                            ", and the defaults differ: " + listed(parts) +
                            ". State it for every arm.",
                        unstated});
  }
  return findings;
}

Findings unequal_updates(const Study& study) {
  std::string smallest, largest;
  StepSize low, high;
  bool unknown = false;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() == nullptr) continue;
    const StepSize size = step_size(arm.chosen()->finished);
    unknown |= std::isnan(size.value);
    if (std::isnan(size.value)) continue;
    if (smallest.empty() || size.value < low.value) {
      low = size;
      smallest = arm.name;
    }
    if (largest.empty() || size.value > high.value) {
      high = size;
      largest = arm.name;
    }
  }
  if (unknown) {
    return {{Severity::kInform,
             "Nothing records how far the updates of some arm move the weights (runs of an older "
             "version), so the scales of learning rates were not compared. Train anew to know.",
             {}}};
  }
  if (smallest.empty() || !(high.value > 10 * low.value)) return {};
  return {{Severity::kInform,
           "At step " + number_text(high.step) + " one update moves the matrices of " + largest +
               " by " + significant(high.value, 2) + " of their size and those of " + smallest +
               " by " + significant(low.value, 2) +
               ", more than ten times less: their learning rates are on different scales and do "
               "not compare as numbers.",
           {smallest, largest}}};
}

Findings options_of_one_arm(const Study& study) {
  // An option of AdamW and that of the AdamW beside another rule are the same thing.
  const auto plain = [](const std::string& key) {
    return key.starts_with("adamw.") ? key.substr(6) : key;
  };
  struct Use {
    const Arm* arm;
    std::string kind, value, fallback;
    bool tuned;
    // Given otherwise than its default, by a number or by leaving out a technique (`nesterov`). A
    // technique that is added, such as `cautious`, or an orthogonalizer is what the arm is about.
    bool departs;
  };
  std::map<std::string, std::vector<Use>> uses;  // by the option's plain key
  for (const Arm& arm : study.summary.arms) {
    const OptimizerConfig& optimizer = example_run(arm).optimizer;
    const OptimizerConfig usual = defaults_of(optimizer);
    for (const OptimizerOption& option : optimizer_kind(optimizer.kind, arm.name).options) {
      const Json* value = optimizer.find(option.key);
      const Json* fallback = usual.find(option.key);
      if (value == nullptr || fallback == nullptr || !option.reaches_weights) continue;
      if (option.key.ends_with("learning_rate")) continue;  // F37 and F25
      const bool left_out = *fallback == Json(true) && *value == Json(false);
      const bool tuned = std::ranges::any_of(
          arm.swept, [&](const SweptOption& swept) { return swept.key == option.key; });
      uses[plain(option.key)].push_back({&arm, optimizer.kind, option_text(*value),
                                         option_text(*fallback), tuned,
                                         *value != *fallback && (value->is_number() || left_out)});
    }
  }
  Findings findings;
  for (const auto& [key, of_key] : uses) {
    const std::vector<Use>& all = of_key;
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> found;
    for (const Use& use : all) {
      if (use.tuned || !use.departs) continue;
      // Two arms of one kind that differ in it are the question itself.
      const bool asked = std::ranges::any_of(all, [&](const Use& other) {
        return other.arm != use.arm && other.kind == use.kind && other.value != use.value;
      });
      const bool of_all = std::ranges::all_of(study.summary.arms, [&](const Arm& arm) {
        return std::ranges::any_of(
            all, [&](const Use& other) { return other.arm == &arm && other.value == use.value; });
      });
      if (!asked && !of_all) found[{use.value, use.fallback}].push_back(use.arm->name);
    }
    for (const auto& [values, arms] : found) {
      findings.push_back({Severity::kWarn,
                          capitalized(key) + " is " + values.first + " for " + joined(arms) +
                              ", which is neither the default (" + values.second +
                              ") nor tuned, and not so for every arm: it may hold an arm back, or "
                              "help it. Tune it, or leave it alone.",
                          arms});
    }
  }
  return findings;
}

}  // namespace draftlab
