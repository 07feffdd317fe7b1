#include "reports/switches/switch_study.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "record/update_cost.h"
#include "reports/stats/claim.h"

namespace draftlab {
namespace {

const UpdateRow* update_of(const Result& run, int64_t step, const std::string& kind,
                           const std::string& rule) {
  for (const UpdateRow& row : run.updates) {
    if (row.step == step && row.kind == kind && row.rule == rule) return &row;
  }
  return nullptr;
}

// The kinds of tensor of a routing table with the rule of each and their numbers of parameters.
using KindSizes = std::map<std::pair<std::string, std::string>, double>;
KindSizes kind_sizes(const std::vector<Route>& table) {
  KindSizes sizes;
  for (const Route& route : table) {
    double count = 1;
    for (const int64_t side : route.shape) count *= static_cast<double>(side);
    sizes[{tensor_kind(route.name), route.rule}] += count;
  }
  return sizes;
}

// Mean over runs of update over weights in one step; NaN where a run lacks the row.
double mean_ratio(const std::vector<const Result*>& runs, int64_t step, const std::string& kind,
                  const std::string& rule) {
  std::vector<double> ratios;
  for (const Result* run : runs) {
    const UpdateRow* row = update_of(*run, step, kind, rule);
    ratios.push_back(row == nullptr ? NAN : row->ratio());
  }
  return estimate(ratios).mean;
}

// The same of all tensors together.
double overall_ratio(const std::vector<const Result*>& runs, int64_t step) {
  std::vector<double> ratios;
  for (const Result* run : runs) {
    double updates = 0, weights = 0;
    for (const auto& [key, size] : kind_sizes(run->config.routing)) {
      if (key.second == "frozen") continue;
      const UpdateRow* row = update_of(*run, step, key.first, key.second);
      updates += size * (row == nullptr ? NAN : row->update_rms * row->update_rms);
      weights += size * (row == nullptr ? NAN : row->weight_rms * row->weight_rms);
    }
    ratios.push_back(std::sqrt(updates / weights));
  }
  return estimate(ratios).mean;
}

void measure_first_updates(const SwitchGroup& group, const SwitchSetting& setting,
                           SwitchOutcome& outcome) {
  const int64_t step = group.place.step + 1;
  if (setting.finished.empty()) return;
  const double overall = overall_ratio(setting.finished, step);
  if (std::isnan(overall)) return;  // an older version did not record it
  const auto& resumed = group.resumed.finished;
  outcome.first_updates.push_back({"", "", overall, overall_ratio(resumed, step)});
  const KindSizes before = kind_sizes(group.before.routing);
  for (const auto& [key, size] : kind_sizes(setting.finished.front()->config.routing)) {
    if (key.second == "frozen") continue;
    FirstUpdate update{key.first, key.second,
                       mean_ratio(setting.finished, step, key.first, key.second), NAN};
    for (const auto& [old, old_size] : before) {
      if (old.first == key.first)
        update.reference = mean_ratio(resumed, step, old.first, old.second);
    }
    outcome.first_updates.push_back(update);
  }
}

void describe_change(const SwitchGroup& group, const SwitchSetting& setting,
                     SwitchOutcome& outcome) {
  const auto& runs = setting.runs.empty() ? setting.trials : setting.runs;
  if (runs.empty() || runs.front()->stages.empty()) return;
  const RunStage& stage = runs.front()->stages.back();
  outcome.state_bytes_before =
      update_cost(group.before.routing, group.before.optimizer).state_bytes;
  outcome.state_bytes_after = update_cost(stage.config.routing, stage.config.optimizer).state_bytes;
  for (size_t i = 0; i < stage.config.routing.size(); ++i) {
    const Route& to = stage.config.routing[i];
    const Route& from = group.before.routing[i];  // one drafter, one order of tensors
    if (to.rule == from.rule) continue;
    auto change = std::ranges::find_if(outcome.changes, [&](const RuleChange& one) {
      return one.from == from.rule && one.to == to.rule;
    });
    if (change == outcome.changes.end())
      change = outcome.changes.insert(change, {from.rule, to.rule, 0, 0});
    ++change->tensors;
    int64_t count = 1;
    for (const int64_t side : to.shape) count *= side;
    change->parameters += count;
  }
  std::map<std::tuple<std::string, std::string, std::string>, int64_t> fates;
  for (const TransferRow& row : stage.transfer) ++fates[{row.fate, row.buffer, row.how}];
  for (const auto& [key, tensors] : fates)
    outcome.fates.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), tensors});
}

SwitchComparison comparison(const SwitchSetting& setting, const std::vector<const Result*>& against,
                            Measure measure) {
  SwitchComparison one;
  one.difference = final_difference(setting.finished, against, measure);
  one.least_sd = one_block(setting.finished, against);
  one.p = p_value(one.difference, one.least_sd);
  one.diverged = setting.diverged;
  return one;
}

void adjust(SwitchStudy& study) {
  std::vector<SwitchComparison*> all;
  std::vector<double> p;
  for (SwitchOutcome& outcome : study.outcomes) {
    for (SwitchComparison* one : {&outcome.final_length, &outcome.final_loss}) {
      all.push_back(one);
      p.push_back(one->p);
    }
  }
  const std::vector<double> adjusted = holm(p);
  for (size_t i = 0; i < p.size(); ++i) {
    SwitchComparison& one = *all[i];
    one.adjusted_p = adjusted[i];
    one.comparisons = static_cast<int64_t>(p.size());
    one.interval =
        interval_of_claim(one.difference, one.p, one.adjusted_p, one.comparisons, one.least_sd);
    one.may_claim = study.status == SwitchStudy::Status::kVerified;
  }
}

void measure(SwitchStudy& study) {
  const SwitchGroup& group = study.group;
  const std::vector<const Result*>& reference = group.reference();
  for (const SwitchVariant& variant : group.variants) {
    SwitchOutcome& outcome = study.outcomes.emplace_back();
    const SwitchSetting& setting =
        variant.chosen() != nullptr ? *variant.chosen() : variant.settings.front();
    describe_change(group, setting, outcome);
    if (variant.chosen() == nullptr) {
      outcome.transient = transient_after(outcome.loss, group.place.step);
      continue;
    }
    const auto& runs = setting.finished;
    outcome.loss = paired_curve(runs, reference, Measure::kLoss);
    outcome.length = paired_curve(runs, reference, Measure::kAcceptanceLength);
    outcome.transient = transient_after(outcome.loss, group.place.step);
    outcome.final_loss = comparison(setting, reference, Measure::kLoss);
    outcome.final_length = comparison(setting, reference, Measure::kAcceptanceLength);
    if (const SwitchSetting* start = variant.chosen_from_start()) {
      outcome.late_loss = final_difference(runs, start->finished, Measure::kLoss);
      outcome.late_length = final_difference(runs, start->finished, Measure::kAcceptanceLength);
    }
    measure_first_updates(group, setting, outcome);
  }
  adjust(study);
}

// Variants that are alike but for what becomes of the state.
void find_gains(SwitchStudy& study) {
  const std::vector<SwitchVariant>& variants = study.group.variants;
  const auto alike = [](const SwitchVariant& a, const SwitchVariant& b) {
    JsonObject x = to_json(a.settings.front().optimizer), y = to_json(b.settings.front().optimizer);
    x.erase("learning_rate");
    y.erase("learning_rate");
    return canonical(x) == canonical(y) && a.start.rewarmup == b.start.rewarmup &&
           a.start.schedule_from == b.start.schedule_from;
  };
  for (size_t i = 0; i < variants.size(); ++i) {
    for (size_t j = 0; j < variants.size(); ++j) {
      if (variants[i].start.state != "transfer" || variants[j].start.state != "reset" ||
          !alike(variants[i], variants[j]) || variants[i].chosen() == nullptr ||
          variants[j].chosen() == nullptr)
        continue;
      const auto &a = variants[i].chosen()->finished, &b = variants[j].chosen()->finished;
      study.gains.push_back({i, j, final_difference(a, b, Measure::kLoss),
                             final_difference(a, b, Measure::kAcceptanceLength)});
    }
  }
}

}  // namespace

std::vector<SwitchStudy> switch_studies(const Study& study) {
  return switch_studies(study.results, study.summary.chosen_by, study.summary.chosen_on);
}

bool SwitchComparison::claimed() const {
  return may_claim && diverged == 0 && may_be_claimed(difference.n, adjusted_p);
}

double SwitchComparison::detectable() const {
  return detectable_difference(
      difference, kClaimLevel / static_cast<double>(std::max<int64_t>(1, comparisons)), least_sd);
}

std::vector<SwitchStudy> switch_studies(const std::vector<Result>& results, Measure chosen_by,
                                        Split chosen_on) {
  std::vector<SwitchStudy> studies;
  for (SwitchGroup& group : switch_groups(results, chosen_by, chosen_on)) {
    SwitchStudy& study = studies.emplace_back();
    study.group = std::move(group);
    verify(study);
    if (study.status != SwitchStudy::Status::kRefused) {
      measure(study);
      find_gains(study);
    }
    study.notes = switch_notes(study.group, study.outcomes, chosen_on);
  }
  return studies;
}

}  // namespace draftlab
