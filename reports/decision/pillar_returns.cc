// Does the candidate's advantage last to the budget of production?
#include <algorithm>
#include <cmath>
#include <map>

#include "base/number_text.h"
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
  return static_cast<double>(config.training.steps * config.training.sequences_per_step) /
         static_cast<double>(config.split.train);
}

// Annealed pairs that differ in their budget alone: the largest set of them.
std::vector<const KindPair*> budgets_of(const std::vector<KindPair>& pairs) {
  std::map<std::string, std::vector<const KindPair*>> sets;
  for (const KindPair& pair : pairs) {
    if (!pair.layers.empty() || pair.config().training.schedule == "constant") continue;
    auto& set = sets[all_but_budget(pair)];
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

// The pillar's numbers and words for one measure.
Judgement judge_trend(const ReturnsTrend& trend, Measure measure, double tokens,
                      double tokens_alike, Pillar& pillar) {
  const std::string name = kind_of(measure).name;
  for (const BudgetEfficiency& point : trend.points) {
    pillar.numbers.push_back({"data efficiency by " + name + " at " +
                                  grouped(std::llround(point.tokens)) + " tokens, " +
                                  significant(point.epochs, 3) + " epochs",
                              point.efficiency.ratio, point.efficiency.low, point.efficiency.high,
                              static_cast<int64_t>(trend.points.size())});
  }
  if (!trend.refusal.empty()) {
    pillar.reason += "By " + name + " nothing is extrapolated: " + trend.refusal + ". ";
    return {};
  }
  const auto budgets = static_cast<int64_t>(trend.points.size());
  pillar.numbers.push_back(
      {"change of the logarithm of the ratio by " + name + " per factor e of budget", trend.slope,
       trend.slope_low, trend.slope_high, budgets});
  Judgement both{Verdict::kUndecided, INFINITY};
  bool first = true, agree = true;
  std::vector<std::string> said;
  for (const auto& [at, how] :
       {std::pair{tokens, "tokens"}, std::pair{tokens_alike, "tokens per parameter"}}) {
    const RatioPrediction p = trend.at(at);
    const PillarNumber number{
        "predicted data efficiency by " + name + " at the production budget in " + how, p.ratio,
        p.low, p.high, budgets};
    pillar.numbers.push_back(number);
    const Judgement one = judge(number, kThreshold, true);
    agree &= first || one.verdict == both.verdict;
    both.verdict = one.verdict;
    both.margin = std::min(both.margin, one.margin);
    said.push_back(number_phrase(number) + " at production's " + how);
    first = false;
  }
  if (!agree) both = {Verdict::kUndecided, std::min(both.margin, 1.0)};
  const char* moves = trend.slope_low > 0    ? "rises with the budget"
                      : trend.slope_high < 0 ? "falls with the budget"
                                             : "neither rises nor falls for certain";
  pillar.reason += "By " + name + " the ratio " + moves + "; predicted is " + joined(said) + ". ";
  return both;
}

}  // namespace

Pillar returns_pillar(const std::vector<KindPair>& pairs, const DecisionContext& context) {
  Pillar pillar;
  pillar.name = "diminishing returns";
  pillar.question = "Does " + context.candidate + " still need fewer data than " + context.current +
                    " at the budget of production?";
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
  const std::vector<const KindPair*> budgets = budgets_of(pairs);
  if (budgets.size() < 3) {
    pillar.reason = "The folders hold " +
                    counted(static_cast<int64_t>(budgets.size()), "annealed budget") +
                    " with both optimizers that differ in nothing else; a trend needs 3.";
    return pillar;
  }
  for (const KindPair* pair : budgets) {
    if (const std::string refused = refusal_text(*pair); !refused.empty()) {
      pillar.reason = "At " + counted(pair->config().training.steps, "step") + ": " + refused;
      return pillar;
    }
    if (!pair->warnings.empty()) {
      pillar.limits.push_back("Checks warn at " + counted(pair->config().training.steps, "step") +
                              ": " + pair->warnings + ".");
    }
  }
  const double most = epochs_of(budgets.back()->config());
  if (most > 1) {
    pillar.limits.push_back(
        "Budgets and repetition grow together: the longest run sees each "
        "sequence " +
        significant(most, 2) + " times; production " + significant(context.epochs, 2) + " times.");
  }
  const double alike =
      context.tokens() * parameters_of(*budgets.back()) / static_cast<double>(context.parameters);
  double largest = 0;
  for (const Result* run : budgets.back()->current_runs())
    largest = std::max(largest, static_cast<double>(run->tokens));
  pillar.limits.push_back("Production's budget is " + significant(context.tokens() / largest, 2) +
                          " times the largest measured one in tokens, " +
                          significant(alike / largest, 2) + " times in tokens per parameter.");
  const ReturnsTrend by_length = trend_of(budgets, Measure::kAcceptanceLength);
  const ReturnsTrend by_loss = trend_of(budgets, Measure::kLoss);
  const Judgement length =
      judge_trend(by_length, Measure::kAcceptanceLength, context.tokens(), alike, pillar);
  const Judgement loss = judge_trend(by_loss, Measure::kLoss, context.tokens(), alike, pillar);
  const Judgement judgement = judge_both(length, loss);
  pillar.verdict = judgement.verdict;
  pillar.margin = judgement.margin;
  pillar.reason.resize(pillar.reason.find_last_not_of(' ') + 1);
  if (pillar.verdict != Verdict::kUndecided) pillar.settle.clear();
  return pillar;
}

}  // namespace draftlab
