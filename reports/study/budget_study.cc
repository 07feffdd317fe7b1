#include "reports/study/budget_study.h"

#include <algorithm>
#include <map>
#include <set>

#include "record/optimizer_kind.h"

namespace draftlab {
namespace {

BudgetEnd end_of(const Arm& arm) {
  const Setting& setting = *arm.chosen();
  const SegmentConfig& config = setting.finished.front()->config;
  BudgetEnd end{&arm, config.training.steps};
  std::vector<double> tokens;
  for (const Result* run : setting.finished) tokens.push_back(static_cast<double>(run->tokens));
  end.tokens = estimate(tokens).mean;
  end.sequences = sequences_after(config, static_cast<double>(end.steps));
  end.epochs = epochs_after(config, static_cast<double>(end.steps));
  end.seconds = setting.train_seconds.estimate;
  end.loss = at_end(setting, Measure::kLoss).estimate;
  end.length = at_end(setting, Measure::kAcceptanceLength).estimate;
  return end;
}

std::vector<double> losses(const BudgetEnd& end) {
  return at_end(*end.arm->chosen(), Measure::kLoss).values;
}

const BudgetEnd* with_steps(const BudgetKind& kind, int64_t steps) {
  const auto found = std::ranges::find(kind.ends, steps, &BudgetEnd::steps);
  return found == kind.ends.end() ? nullptr : &*found;
}

void find_frontier(BudgetStudy& study) {
  std::vector<BudgetEnd*> ends;
  for (BudgetKind& kind : study.kinds)
    for (BudgetEnd& end : kind.ends) ends.push_back(&end);
  for (BudgetEnd* one : ends) {
    one->on_frontier = std::ranges::none_of(ends, [&](const BudgetEnd* other) {
      return other != one && other->seconds.mean <= one->seconds.mean &&
             other->length.mean >= one->length.mean &&
             (other->seconds.mean < one->seconds.mean || other->length.mean > one->length.mean);
    });
  }
}

}  // namespace

BudgetStudy budget_study(const Study& study) {
  const Summary& summary = study.summary;
  std::map<std::string, BudgetKind> by_kind;
  std::vector<std::string> order;
  std::set<std::string> drafters;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr || arm.copy_of) continue;
    const SegmentConfig& config = arm.chosen()->finished.front()->config;
    if (config.training.schedule == "constant") return {};
    drafters.insert(canonical(to_json(config.drafter)));
    const std::string& kind = arm.chosen()->optimizer.kind;
    if (by_kind.try_emplace(kind, BudgetKind{kind_title(kind), arm.look, {}}).second)
      order.push_back(kind);
    by_kind[kind].ends.push_back(end_of(arm));
  }
  if (drafters.size() != 1) return {};
  BudgetStudy result;
  const std::string& first = summary.arms[summary.reference].settings.front().optimizer.kind;
  std::stable_partition(order.begin(), order.end(),
                        [&](const std::string& kind) { return kind == first; });
  for (const std::string& name : order) {
    BudgetKind& kind = by_kind[name];
    std::ranges::sort(kind.ends, {}, &BudgetEnd::steps);
    if (std::ranges::adjacent_find(kind.ends, {}, &BudgetEnd::steps) != kind.ends.end()) return {};
    if (kind.ends.size() > 1) result.kinds.push_back(std::move(kind));
  }
  if (result.kinds.empty()) return {};
  find_frontier(result);
  for (size_t k = 1; k < result.kinds.size(); ++k) {
    std::vector<Budget> budgets;
    std::vector<BudgetEnd*> told;
    for (BudgetEnd& end : result.kinds[k].ends) {
      const BudgetEnd* reference = with_steps(result.kinds[0], end.steps);
      if (reference == nullptr) continue;
      budgets.push_back({reference->tokens, reference->epochs, losses(*reference), losses(end)});
      told.push_back(&end);
    }
    if (budgets.size() < 2) continue;
    result.trends.push_back(returns_trend(budgets));
    const std::vector<BudgetEfficiency>& points = result.trends.back().points;
    for (size_t i = 0; i < points.size() && points.size() == told.size(); ++i)
      told[i]->data = points[i].efficiency;
  }
  return result;
}

}  // namespace draftlab
