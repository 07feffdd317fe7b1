// Does the candidate's advantage last to the budget of production?
#include <algorithm>
#include <cmath>
#include <map>

#include "base/number_text.h"
#include "record/optimizer_kind.h"
#include "reports/decision/pillar.h"
#include "reports/pipeline/pipeline_findings.h"
#include "reports/stats/claim.h"
#include "reports/stats/returns_trend.h"
#include "reports/switches/switch_group.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr double kThreshold = 1;

// Everything but the length of training, and what follows from it.
std::string all_but_budget(const KindPair& pair) {
  JsonObject object = conditions(pair.config());
  object["training"].as_object().erase("steps");
  object.erase("evaluation");
  return canonical(object);
}

double epochs_of(const SegmentConfig& config) {
  return epochs_after(config, static_cast<double>(config.training.steps));
}

// Annealed pairs that differ in their budget alone: the largest set of them in one folder, or in
// all where the context names several. A budget of another folder may have been tuned otherwise.
std::vector<const KindPair*> budgets_of(const std::vector<KindPair>& pairs,
                                        const DecisionContext& context) {
  const bool together = context.folders_of("diminishing returns").size() > 1;
  std::map<std::string, std::vector<const KindPair*>> sets;
  for (const KindPair& pair : pairs) {
    if (!pair.layers.empty() || pair.config().training.schedule == "constant") continue;
    auto& set = sets[(together ? "" : pair.folder + " ") + all_but_budget(pair)];
    const bool known = std::ranges::any_of(set, [&](const KindPair* other) {
      return other->config().training.steps == pair.config().training.steps;
    });
    if (!known) set.push_back(&pair);
  }
  std::vector<const KindPair*> largest;
  for (auto& [key, set] : sets) {
    if (set.size() > largest.size()) largest = std::move(set);
  }
  std::ranges::sort(largest, {},
                    [](const KindPair* pair) { return pair->config().training.steps; });
  return largest;
}

// What falls with training: the loss, or the slots of a block that are missed.
double falling(const Result& run, Measure measure) {
  const double value = run.final(Split::kHeldOut, measure);
  return measure == Measure::kLoss ? value
                                   : static_cast<double>(run.config.drafter.block_size) - value;
}

ReturnsTrend trend_of(const std::vector<const KindPair*>& pairs, Measure measure) {
  std::vector<Budget> budgets;
  for (const KindPair* pair : pairs) {
    Budget budget;
    budget.epochs = epochs_of(pair->config());
    for (const Result* run : pair->current_runs()) {
      budget.tokens +=
          static_cast<double>(run->tokens) / static_cast<double>(pair->current_runs().size());
      budget.current.push_back(falling(*run, measure));
    }
    for (const Result* run : pair->candidate_runs())
      budget.candidate.push_back(falling(*run, measure));
    budgets.push_back(std::move(budget));
  }
  return returns_trend(std::move(budgets));
}

// Parameters that the measured runs train.
double parameters_of(const KindPair& pair) {
  double count = 0;
  for (const Route& route : pair.config().routing) {
    double size = 1;
    for (const int64_t side : route.shape) size *= static_cast<double>(side);
    count += size;
  }
  return count;
}

// Production's budget on the scale of the measured runs: as many tokens, or as many for each
// parameter.
struct ProductionBudget {
  PipelineInterval tokens, tokens_alike;
};

ProductionBudget budget_of(const DecisionContext& context, const KindPair& measured) {
  const PipelineInterval tokens = context.tokens();
  const double alike = parameters_of(measured) / static_cast<double>(context.parameters);
  return {tokens, {tokens.value * alike, tokens.low * alike, tokens.high * alike}};
}

// What was measured at each budget, and how it changes with them.
void add_numbers(const ReturnsTrend& trend, const std::string& name, Pillar& pillar) {
  const auto budgets = static_cast<int64_t>(trend.points.size());
  const std::string reading = trend.by_line ? " (straight line)" : "";
  if (budgets > 0 && trend.law.refusal.empty()) {
    pillar.numbers.push_back({"exponent of the law by " + name, trend.law.exponent});
    pillar.numbers.push_back(
        {"floor of the law by " + name + (trend.by_line ? ", at its bound" : ""), trend.law.floor,
         trend.least_floor, trend.most_floor});
  }
  for (const BudgetEfficiency& point : trend.points) {
    pillar.numbers.push_back(
        {"data efficiency by " + name + reading + " at " + grouped(std::llround(point.tokens)) +
             " tokens, " + significant(point.epochs, 3) + " epochs",
         point.efficiency.ratio, point.efficiency.low, point.efficiency.high, budgets});
  }
  if (!trend.refusal.empty()) return;
  pillar.numbers.push_back(
      {"change of the logarithm of the ratio by " + name + " per factor e of budget", trend.slope,
       trend.slope_low, trend.slope_high, budgets});
}

// Steps over steps to one end at the largest budget whose end both optimizers reach: the inverse of
// D_eff / D there.
std::optional<PillarNumber> annealed_steps(const ReturnsTrend& trend, const std::string& name,
                                           const std::vector<const KindPair*>& budgets) {
  for (size_t i = trend.points.size(); i-- > 0;) {
    const DataEfficiency& e = trend.points[i].efficiency;
    if (!std::isfinite(e.ratio) || !std::isfinite(e.high) || !(e.low > 0)) continue;
    const size_t seeds =
        std::min(budgets[i]->current_runs().size(), budgets[i]->candidate_runs().size());
    return PillarNumber{"steps to one annealed end by " + name + ", " +
                            counted(budgets[i]->config().training.steps, "step") + ", ratio",
                        1 / e.ratio, 1 / e.high, 1 / e.low, static_cast<int64_t>(seeds)};
  }
  return std::nullopt;
}

struct Predicted {
  std::string how;  // "tokens", "tokens per parameter"
  PillarNumber number;
};

std::vector<Predicted> predict(const ReturnsTrend& trend, const std::string& name,
                               const ProductionBudget& budget) {
  std::vector<Predicted> predicted;
  for (const auto& [tokens, how] : {std::pair{budget.tokens, "tokens"},
                                    std::pair{budget.tokens_alike, "tokens per parameter"}}) {
    const std::string what =
        "predicted data efficiency by " + name + " at the production budget in " + how;
    RatioPrediction p = trend.at(tokens.value);
    for (const double end : {tokens.low, tokens.high}) {  // nobody counted them
      p.low = std::min(p.low, trend.at(end).low);
      p.high = std::max(p.high, trend.at(end).high);
    }
    const auto budgets = static_cast<int64_t>(trend.points.size());
    predicted.push_back({how, {what, p.ratio, p.low, p.high, budgets}});
  }
  return predicted;
}

// Undecided where they disagree.
Judgement judge_predicted(const std::vector<Predicted>& predicted) {
  Judgement all{judge(predicted.front().number, kThreshold, true).verdict, INFINITY};
  bool agree = true;
  for (const Predicted& one : predicted) {
    const Judgement judgement = judge(one.number, kThreshold, true);
    agree &= judgement.verdict == all.verdict;
    all.margin = std::min(all.margin, judgement.margin);
  }
  return agree ? all : Judgement{Verdict::kUndecided, std::min(all.margin, 1.0)};
}

std::string trend_text(const ReturnsTrend& trend, const std::string& name,
                       const std::vector<Predicted>& predicted) {
  const char* moves = trend.slope_low > 0    ? "rises with the budget"
                      : trend.slope_high < 0 ? "falls with the budget"
                                             : "neither rises nor falls for certain";
  std::vector<std::string> said;
  for (const Predicted& one : predicted)
    said.push_back(number_phrase(one.number) + " at production's " + one.how);
  return "By " + name + " the ratio " + moves + "; predicted is " + joined(said) + ".";
}

// One measure's part of the pillar: its numbers, a sentence and a judgement.
Judgement judge_by(Measure measure, const std::vector<const KindPair*>& budgets,
                   const ProductionBudget& budget, Pillar& pillar) {
  const std::string& name = kind_of(measure).name;
  const ReturnsTrend trend = trend_of(budgets, measure);
  add_numbers(trend, name, pillar);
  if (!pillar.steps) pillar.steps = annealed_steps(trend, name, budgets);
  pillar.reason += pillar.reason.empty() ? "" : " ";
  if (!trend.refusal.empty()) {
    pillar.reason += "By " + name + " nothing is extrapolated: " + trend.refusal + ".";
    return {};
  }
  const std::vector<Predicted> predicted = predict(trend, name, budget);
  for (const Predicted& one : predicted) {
    pillar.numbers.push_back(one.number);
    if (measure == Measure::kAcceptanceLength)
      pillar.balances.push_back({one.number, kThreshold, true, one.how});
  }
  pillar.reason += trend_text(trend, name, predicted);
  return judge_predicted(predicted);
}

Pillar asked(const DecisionContext& context) {
  Pillar pillar;
  pillar.name = "diminishing returns";
  pillar.question = "Does " + kind_title(context.candidate) + " still need fewer data than " +
                    kind_title(context.current) + " at the budget of production?";
  pillar.rule =
      "D_eff / D, how many times more data the current optimizer needs for the same end, against "
      "the budget, at least three of which are annealed; extrapolated to production both in tokens "
      "and in tokens per parameter. For where both 95 % prediction intervals lie above " +
      number_text(kThreshold) +
      ", against where both lie below; acceptance length decides, undecided where the loss says "
      "the opposite.";
  pillar.settle =
      "More annealed budgets, nearer to production and with few epochs, both optimizers at their "
      "best rates, " +
      kFewestSeedsInWords + " seeds.";
  return pillar;
}

// What the checks refuse about one of the budgets, or ""; what they warn of becomes a limit.
std::string refusal_of(const std::vector<const KindPair*>& budgets, Pillar& pillar) {
  for (const KindPair* pair : budgets) {
    if (const std::string refused = refusal_text(*pair); !refused.empty()) {
      return "At " + counted(pair->config().training.steps, "step") + ": " + refused;
    }
    if (!pair->warnings.empty()) {
      pillar.limits.push_back("Checks warn at " + counted(pair->config().training.steps, "step") +
                              ": " + pair->warnings + ".");
    }
  }
  return "";
}

void tell_limits(const std::vector<const KindPair*>& budgets, const ProductionBudget& budget,
                 const DecisionContext& context, Pillar& pillar) {
  const double most = epochs_of(budgets.back()->config());
  if (most > 1) {
    pillar.limits.push_back(
        "Budgets and repetition grow together: the longest run sees each "
        "sequence " +
        significant(most, 2) + " times; production " + significant(context.epochs, 2) + " times.");
  }
  double largest = 0;
  for (const Result* run : budgets.back()->current_runs())
    largest = std::max(largest, static_cast<double>(run->tokens));
  pillar.limits.push_back(
      "Production's budget is " + significant(budget.tokens.value / largest, 2) +
      " times the largest measured one in tokens, " +
      significant(budget.tokens_alike.value / largest, 2) + " times in tokens per parameter.");
}

}  // namespace

Pillar returns_pillar(const std::vector<KindPair>& pairs, const DecisionContext& context) {
  Pillar pillar = asked(context);
  const std::vector<const KindPair*> budgets = budgets_of(pairs, context);
  if (budgets.size() < 3) {
    pillar.reason = "The folders hold " +
                    counted(static_cast<int64_t>(budgets.size()), "annealed budget") +
                    " with both optimizers that differ in nothing else; a trend needs 3.";
    return pillar;
  }
  for (const KindPair* pair : budgets) pillar.origins.push_back(origin_text(*pair));
  pillar.reason = refusal_of(budgets, pillar);
  if (!pillar.reason.empty()) return pillar;
  const ProductionBudget budget = budget_of(context, *budgets.back());
  tell_limits(budgets, budget, context, pillar);
  const Judgement length = judge_by(Measure::kAcceptanceLength, budgets, budget, pillar);
  const Judgement loss = judge_by(Measure::kLoss, budgets, budget, pillar);
  decide_by(judge_both(length, loss), pillar);
  return pillar;
}

}  // namespace draftlab
