#include "runner/tuning.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/number_text.h"
#include "record/choice.h"
#include "record/metrics.h"
#include "record/optimizer_kind.h"
#include "record/outcome.h"

namespace draftlab {
namespace {

std::string metric_of(const TargetLevel& target) {
  return target.metric.empty() ? kUsualMetric : target.metric;
}

// The evaluation at a step on the tuning split; without numbers if the run never got there.
EvaluationRow evaluation_at(const SegmentFolder& folder, const Outcome& outcome, int64_t step) {
  for (EvaluationRow& row : read_metrics(folder.metrics(), outcome.metrics_sha256).evaluations) {
    if (row.step == step && row.split == "tuning") return row;
  }
  EvaluationRow none;
  none.loss = none.acceptance_length = NAN;
  return none;
}

const TrialScore* find(const std::vector<TrialScore>& scores, const std::string& point) {
  const auto found =
      std::ranges::find_if(scores, [&](const TrialScore& each) { return each.point == point; });
  return found == scores.end() ? nullptr : &*found;
}

// Null where nothing finished.
const ArmPoint* best_point(const std::vector<ArmPoint>& points,
                           const std::vector<TrialScore>& scores, const std::string& metric) {
  std::vector<TrialScore> in_order;  // of the points
  for (const ArmPoint& point : points) {
    const TrialScore* score = find(scores, point.label);
    in_order.push_back(score == nullptr ? TrialScore() : *score);
  }
  const std::optional<Choice> choice = choice_of(in_order, metric);
  return choice ? &points[choice->best] : nullptr;
}

const OptimizerConfig& optimizer_of(const ArmPoint& point) { return point.stages.back().optimizer; }

OptimizerConfig with_number(const OptimizerConfig& config, const std::string& key, double value) {
  OptimizerConfig changed = config;
  JsonObject* object = &changed.options;
  size_t from = 0;
  for (size_t dot; (dot = key.find('.', from)) != std::string::npos; from = dot + 1)
    object = &object->at(key.substr(from, dot - from)).as_object();
  (*object)[key.substr(from)] = value;
  return changed;
}

// The rates of the points that differ from `point` in the option `key` alone, rising.
std::vector<double> row_of_rates(const std::vector<ArmPoint>& points, const ArmPoint& point,
                                 const std::string& key) {
  const auto without = [&](const ArmPoint& each) {
    std::string text;
    for (const Stage& stage : each.stages) {
      const bool last = &stage == &each.stages.back();
      text += std::to_string(stage.from_step) + stage.start.state +
              std::to_string(stage.start.rewarmup) + "/" +
              std::to_string(stage.start.schedule_from) +
              canonical(to_json(last ? with_number(stage.optimizer, key, 0) : stage.optimizer));
    }
    return text;
  };
  std::vector<double> rates;
  for (const ArmPoint& other : points) {
    if (optimizer_of(other).has(key) && without(other) == without(point))
      rates.push_back(optimizer_of(other).number(key));
  }
  std::sort(rates.begin(), rates.end());
  return rates;
}

// Three significant digits: 0.004 for 0.002 * (0.002 / 0.001), whatever rounding says.
double round_rate(double rate) {
  const double scale = std::pow(10, std::floor(std::log10(rate)) - 2);
  return parse_number(significant(std::round(rate / scale) * scale, 3), "rate");
}

// As near to `rate` as the option's range allows: what is frozen must be read again.
double within_range(double rate, const OptimizerConfig& optimizer, const std::string& key) {
  for (const OptimizerOption& option : optimizer_kind(optimizer.kind, "optimizer.kind").options) {
    if (option.key == key && option.low < option.high)
      return std::clamp(rate, option.low, option.high);
  }
  return rate;
}

// The point that lies one step beyond the edge on which `best` lies, or at the end of the option's
// range, which sets `limited`; nothing if it lies on no edge, or there already.
std::optional<ArmPoint> beyond_edge(const std::vector<ArmPoint>& points, const ArmPoint& best,
                                    bool& limited) {
  std::vector<OptimizerConfig> optimizers;
  for (const ArmPoint& point : points) optimizers.push_back(optimizer_of(point));
  for (const std::string& key : distinguishing_options(optimizers)) {
    if (!key.ends_with("learning_rate") || !optimizer_of(best).has(key)) continue;
    const std::vector<double> rates = row_of_rates(points, best, key);
    if (rates.size() < 2 || rates.front() <= 0) continue;
    const double rate = optimizer_of(best).number(key);
    double next = 0;
    if (rate == rates.front()) next = rate * rate / rates[1];
    if (rate == rates.back()) next = rate * rate / rates[rates.size() - 2];
    if (next == 0) continue;
    const double wanted = round_rate(next);
    next = within_range(wanted, optimizer_of(best), key);
    if (next == rate) continue;
    limited = next != wanted;
    ArmPoint point = best;
    point.stages.back().optimizer = with_number(optimizer_of(best), key, next);
    return point;
  }
  return std::nullopt;
}

// What one arm's trials say, replayed from its grid: extensions that have run are points too.
struct ArmState {
  std::vector<ArmPoint> points;
  size_t best = 0;
  bool any = false;       // some run finished
  bool extended = false;  // the last of `points` is new
  bool limited = false;   // as in TuningDecision, of the last of `points`
};

ArmState replay(const SweepArm& arm, const std::vector<TrialScore>& scores, int64_t extend,
                const std::string& metric) {
  ArmState state{arm.points};
  for (int64_t extensions = 0;; ++extensions) {
    const ArmPoint* best = best_point(state.points, scores, metric);
    if (best == nullptr) return state;
    state.any = true;
    state.best = best - state.points.data();
    if (extensions == extend) return state;
    const std::optional<ArmPoint> next = beyond_edge(state.points, *best, state.limited);
    if (!next) return state;
    state.points.push_back(*next);
    label_points(state.points);
    if (find(scores, state.points.back().label) == nullptr) {
      state.extended = true;
      return state;
    }
  }
}

size_t rungs_of(const Sweep& sweep) {
  return sweep.tuning->halving ? sweep.tuning->halving->at.size() : 0;
}

// The rung of the arm that lies at this step; nothing at its end, or without rungs.
std::optional<size_t> rung_at(const Sweep& sweep, const SweepArm& arm, int64_t step) {
  for (size_t rung = 0; rung < rungs_of(sweep); ++rung) {
    if (sweep.tuning->halving->step(rung, arm.training.steps) == step) return rung;
  }
  return std::nullopt;
}

}  // namespace

std::vector<ArmTrials> read_trials(const RunFolder& folder, const PlanRecord& plan) {
  const std::string metric = metric_of(plan.target);
  std::map<std::string, const PlannedSegment*> segments;
  for (const PlannedSegment& segment : plan.segments) segments[segment.id] = &segment;
  const auto end_of = [&](const PlannedRun& run) {
    return segments.at(run.segments.back())->config.to_step;
  };
  std::vector<ArmTrials> arms;
  const auto arm_of = [&](const PlannedRun& run) {
    return std::ranges::find_if(arms, [&](const auto& each) { return each.arm == run.arm; });
  };
  for (const PlannedRun& run : plan.runs) {
    if (run.phase != kTrial) continue;
    auto arm = arm_of(run);
    if (arm == arms.end()) arm = arms.insert(arm, {run.arm, 0, {}});
    arm->step = std::max(arm->step, end_of(run));
  }
  std::map<std::pair<std::string, std::string>, std::vector<EvaluationRow>> ends;  // by arm, point
  for (const PlannedRun& run : plan.runs) {
    if (run.phase != kTrial) continue;
    const auto arm = arm_of(run);
    if (end_of(run) != arm->step) continue;
    auto score = std::ranges::find_if(arm->scores,
                                      [&](const auto& each) { return each.point == run.point; });
    if (score == arm->scores.end()) score = arm->scores.insert(score, {run.point});
    std::optional<Outcome> outcome;
    for (const std::string& id : run.segments) {  // behind a parent that diverged nothing runs
      outcome = read_outcome(SegmentFolder(folder, id).outcome(), id);
      if (!outcome || outcome->kind != OutcomeKind::kDone) break;
    }
    if (!outcome || outcome->kind != OutcomeKind::kDone) {
      ++score->diverged;
      continue;
    }
    ++score->finished;
    const SegmentFolder last(folder, run.segments.back());
    ends[{run.arm, run.point}].push_back(evaluation_at(last, *outcome, arm->step));
  }
  for (ArmTrials& arm : arms) {
    for (TrialScore& score : arm.scores) {
      std::vector<double> values, losses;
      for (const EvaluationRow& row : ends[{arm.arm, score.point}]) {
        losses.push_back(row.loss);
        values.push_back(metric == "val_loss" ? row.loss : row.acceptance_length);
      }
      score.mean = mean_of(std::move(values));
      score.loss = mean_of(std::move(losses));
    }
  }
  return arms;
}

std::optional<PlanRecord> next_phase(const Sweep& sweep, const PlannedStore& store,
                                     const std::vector<ArmTrials>& trials) {
  const std::string metric = metric_of(sweep.target);
  Sweep more = sweep, final = sweep;
  more.arms.clear();
  final.arms.clear();
  std::optional<size_t> next_rung;
  std::vector<TuningDecision> decisions;
  for (const SweepArm& arm : sweep.arms) {
    const auto own =
        std::ranges::find_if(trials, [&](const auto& each) { return each.arm == arm.name; });
    const std::vector<TrialScore> scores =
        own == trials.end() ? std::vector<TrialScore>() : own->scores;
    SweepArm one = arm;
    if (const auto rung = own == trials.end() ? std::nullopt : rung_at(sweep, arm, own->step)) {
      const int64_t count = sweep.tuning->halving->kept(static_cast<int64_t>(scores.size()));
      const std::vector<std::string> kept = best_points(scores, metric, count);
      decisions.push_back(
          {arm.name, metric, scores, kept.empty() ? "" : kept[0], "", false, own->step, kept});
      std::erase_if(one.points, [&](const ArmPoint& point) {
        return std::ranges::find(kept, point.label) == kept.end();
      });
      if (kept.empty()) continue;
      more.arms.push_back(one);
      next_rung = *rung + 1;
      continue;
    }
    // A search has no edge that its own points made.
    const ArmState state = replay(arm, scores, arm.searched ? 0 : sweep.tuning->extend, metric);
    decisions.push_back({arm.name, metric, scores, state.any ? state.points[state.best].label : "",
                         state.extended ? state.points.back().label : "",
                         state.extended && state.limited});
    if (!state.any) continue;
    one.points = {state.points[state.best]};
    final.arms.push_back(one);
    if (!state.extended) continue;
    one.points = {state.points.back()};
    more.arms.push_back(one);
  }
  if (final.arms.empty() && more.arms.empty()) return std::nullopt;
  PlanRecord phase = more.arms.empty()
                         ? make_phase(final, store, sweep.seeds, kFinal)
                         : make_phase(more, store, sweep.tuning->seeds, kTrial, next_rung);
  phase.decisions = std::move(decisions);
  return phase;
}

std::vector<PlanRecord> example_phases(const Sweep& sweep, const PlannedStore& store) {
  std::vector<PlanRecord> phases;
  Sweep example = sweep;
  for (size_t rung = 1; rung <= rungs_of(sweep); ++rung) {
    for (SweepArm& arm : example.arms)
      arm.points.resize(sweep.tuning->halving->kept(static_cast<int64_t>(arm.points.size())));
    phases.push_back(make_phase(example, store, sweep.tuning->seeds, kTrial, rung));
  }
  for (SweepArm& arm : example.arms) arm.points.resize(1);
  phases.push_back(make_phase(example, store, sweep.seeds, kFinal));
  return phases;
}

std::string text_of(const TuningDecision& decision) {
  const TrialScore* best = find(decision.trials, decision.best);
  if (best == nullptr || best->finished == 0)
    return decision.arm +
           ": every trial diverged, so no setting is chosen and nothing of it is run";
  std::string text = decision.arm + ": ";
  if (decision.step > 0) {
    text += std::to_string(decision.kept.size()) + " of " + std::to_string(decision.trials.size()) +
            " go on from step " + std::to_string(decision.step) + ", by their " + decision.metric +
            " on the tuning split:";
    for (const std::string& point : decision.kept)
      text += (&point == &decision.kept[0] ? " " : ", ") + point + " (" +
              significant(find(decision.trials, point)->mean, 4) + ")";
    return text;
  }
  if (decision.trials.size() == 1) {
    text += "its only setting has ";
  } else {
    text += decision.best + " is best of " + std::to_string(decision.trials.size()) + ", ";
  }
  text += decision.metric + " " + significant(best->mean, 4) + " on the tuning split";
  if (const auto choice = choice_of(decision.trials, decision.metric); choice && choice->is_tie()) {
    const size_t others = choice->tied.size() - 1;
    text += choice->tied.size() == decision.trials.size() ? ", as have all of them"
            : others == 1                                 ? ", as has 1 more"
                          : ", as have " + std::to_string(others) + " more";
    text += choice->by_loss ? ": the lower loss decides, " + number_text(best->loss)
                            : ": nothing tells them apart, and the first is taken";
  }
  if (!decision.extended.empty())
    text += "; it lies on the edge, so " + decision.extended + " is tried" +
            (decision.limited ? ", beyond which the option must not go" : "");
  return text;
}

}  // namespace draftlab
