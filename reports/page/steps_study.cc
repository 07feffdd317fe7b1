#include "reports/page/steps_study.h"

#include <algorithm>
#include <set>

#include "base/number_text.h"
#include "record/optimizer_kind.h"
#include "reports/study/step_size.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

double rate(const Setting& setting) { return setting.optimizer.learning_rate(); }

// What the settings of one study have in common: all options but those that are studied and those
// that only some orthogonalizers have, and which tensor gets which rule.
std::string common_part(const Setting& setting) {
  const OptimizerConfig& optimizer = setting.optimizer;
  std::string text = optimizer.kind;
  for (const OptimizerOption& option : optimizer_kind(optimizer.kind, "optimizer").options) {
    if (option.key == "learning_rate" || option.key == "orthogonalizer") continue;
    if (option.when_key == "orthogonalizer") continue;
    const Json* value = optimizer.find(option.key);
    if (value != nullptr) text += "\n" + option.key + " " + canonical(*value);
  }
  for (const Route& route : setting.runs.front()->config.routing)
    text += "\n" + route.name + " " + route.rule + " " + split_text(route);
  return text;
}

StepsPoint& point_of(const Setting& setting, StepsStudy& study) {
  const std::string orthogonalizer = setting.optimizer.text("orthogonalizer");
  const int64_t steps =
      setting.optimizer.has("steps") ? setting.optimizer.integer("steps") : int64_t{0};
  for (StepsPoint& point : study.points) {
    if (point.orthogonalizer == orthogonalizer && point.steps == steps) return point;
  }
  study.points.push_back({orthogonalizer, steps, "", {}, nullptr, false});
  return study.points.back();
}

// True if some orthogonalizer has two numbers of steps with two rates each.
bool is_study(const StepsStudy& study) {
  std::map<std::string, int> counts;
  bool found = false;
  for (const StepsPoint& point : study.points) {
    if (point.steps > 0 && point.settings.size() > 1) found |= ++counts[point.orthogonalizer] > 1;
  }
  return found;
}

void finish(StepsStudy& study, Measure chosen_by) {
  std::vector<std::string> order;  // of the orthogonalizers, as in the sweep
  for (const StepsPoint& point : study.points) {
    if (std::find(order.begin(), order.end(), point.orthogonalizer) == order.end())
      order.push_back(point.orthogonalizer);
  }
  const auto place = [&](const StepsPoint& point) {
    return std::tuple(point.steps == 0,
                      std::find(order.begin(), order.end(), point.orthogonalizer) - order.begin(),
                      point.steps);
  };
  std::stable_sort(study.points.begin(), study.points.end(),
                   [&](const StepsPoint& a, const StepsPoint& b) { return place(a) < place(b); });
  const int64_t iterative =
      static_cast<int64_t>(order.size()) - (study.points.back().steps == 0 ? 1 : 0);
  for (StepsPoint& point : study.points) {
    point.label = point.steps == 0 ? point.orthogonalizer
                                   : (iterative > 1 ? point.orthogonalizer + ", " : "") +
                                         counted(point.steps, "step");
    std::stable_sort(point.settings.begin(), point.settings.end(),
                     [](const Setting* a, const Setting* b) { return rate(*a) < rate(*b); });
    point.best = best_setting(point.settings, chosen_by);
    point.at_edge = point.best != nullptr && (rate(*point.best) == rate(*point.settings.front()) ||
                                              rate(*point.best) == rate(*point.settings.back()));
  }
}

// The two ends that are compared: null where one has no finished run.
std::pair<const StepsPoint*, const StepsPoint*> ends(const StepsStudy& study) {
  const StepsPoint* coarse = nullptr;
  const StepsPoint* fine = nullptr;
  std::map<std::string, int> counts;
  for (const StepsPoint& point : study.points) ++counts[point.orthogonalizer];
  for (const StepsPoint& point : study.points) {
    if (point.best == nullptr) continue;
    if (coarse == nullptr && counts[point.orthogonalizer] > 1) coarse = &point;
    if (point.steps == 0 ||
        (coarse != nullptr && &point != coarse && point.orthogonalizer == coarse->orthogonalizer))
      fine = &point;
  }
  return {coarse, fine};
}

// Within a sentence: "3 steps", "the exact polar factor".
std::string spoken(const StepsPoint& point) {
  return point.steps == 0 ? "the exact polar factor" : point.label;
}

std::string times(double ratio) { return significant(ratio, 2) + " times"; }

std::string edge_text(const StepsPoint& point) {
  if (!point.at_edge) return "";
  const bool low = rate(*point.best) == rate(*point.settings.front());
  return " " + number_text(rate(*point.best)) + " is the " + (low ? "smallest" : "largest") +
         " rate tried with " + spoken(point) + ", so it is no optimum: a " +
         (low ? "smaller" : "larger") + " one may be better.";
}

// How far updates go at the same rate, which part of the difference in rates makes up for.
std::string size_text(const StepsPoint& coarse, const StepsPoint& fine) {
  for (const Setting* a : coarse.settings) {
    for (const Setting* b : fine.settings) {
      if (rate(*a) != rate(*b) || rate(*b) != rate(*fine.best)) continue;
      const double equal = step_size(a->finished).value / step_size(b->finished).value;
      const double best = step_size(coarse.best->finished).value / step_size(b->finished).value;
      if (!(equal > 0) || !(best > 0)) return "";
      return " At the same rate, " + number_text(rate(*b)) + ", an early update with " +
             spoken(coarse) + " moves a matrix " + times(equal) + " as far as with " +
             spoken(fine) + "; at the best rate of each, " + times(best) + ".";
    }
  }
  return "";
}

}  // namespace

std::vector<StepsStudy> steps_studies(const Summary& summary) {
  std::vector<StepsStudy> studies;
  std::map<std::string, size_t> study_of;
  for (const Arm& arm : summary.arms) {
    for (const Setting& setting : arm.tried()) {
      if (!setting.optimizer.has("orthogonalizer")) continue;
      const auto [entry, added] = study_of.try_emplace(common_part(setting), studies.size());
      if (added) studies.emplace_back();
      StepsStudy& study = studies[entry->second];
      if (study.arms.empty() || study.arms.back() != arm.name) study.arms.push_back(arm.name);
      point_of(setting, study).settings.push_back(&setting);
    }
  }
  std::erase_if(studies, [](const StepsStudy& study) { return !is_study(study); });
  for (StepsStudy& study : studies) finish(study, summary.chosen_by);
  return studies;
}

std::map<std::string, double> best_rates(const StepsPoint& point, Measure chosen_by) {
  std::map<std::string, double> rates, values;
  for (const Setting* setting : point.settings) {
    for (size_t i = 0; i < setting->finished.size(); ++i) {
      const double value = deciding(*setting, chosen_by).values[i];
      const std::string seed = seed_text(setting->finished[i]->seeds);
      if (std::isnan(value)) continue;  // better than none
      const auto [entry, first] = values.emplace(seed, value);
      if (!first && !better(chosen_by, value, entry->second)) continue;
      entry->second = value;
      rates[seed] = rate(*setting);
    }
  }
  return rates;
}

std::string finding(const StepsStudy& study, const Summary& summary) {
  const auto [coarse, fine] = ends(study);
  if (coarse == nullptr || fine == nullptr)
    return "Too few runs have finished to compare numbers of steps.";
  const double a = rate(*coarse->best), b = rate(*fine->best);
  std::vector<double> ratios;
  const std::map<std::string, double> fine_rates = best_rates(*fine, summary.chosen_by);
  for (const auto& [seed, rate_of_seed] : best_rates(*coarse, summary.chosen_by)) {
    const auto other = fine_rates.find(seed);
    if (other != fine_rates.end()) ratios.push_back(rate_of_seed / other->second);
  }
  const auto count = static_cast<int64_t>(ratios.size());
  std::string text = "By the mean " + kind_of(summary.chosen_by).name + ", the best rate is " +
                     number_text(a) + " with " + spoken(*coarse) + " and " + number_text(b) +
                     " with " + spoken(*fine) + ", " +
                     (a == b ? "the same" : times(a / b) + " as large");
  if (count < 2) {
    return text + " (" + (count == 0 ? "no common seed" : "one seed") +
           ", from which nothing can be claimed)." + edge_text(*coarse) + edge_text(*fine) +
           size_text(*coarse, *fine);
  }
  std::string of_seeds;
  bool agree = true;
  for (const double ratio : ratios) {
    of_seeds += (of_seeds.empty() ? "" : ", ") + significant(ratio, 2);
    agree &= a == b ? ratio == 1 : (ratio > 1) == (a > b) && ratio != 1;
  }
  text += "; of " + counted(count, "seed") + " each by itself: " + of_seeds + " times. ";
  // A rate on an edge could move on outwards, not back.
  const bool open = a == b && (coarse->at_edge || fine->at_edge);
  if (!agree) {
    text += "The seeds do not agree, so nothing is claimed.";
  } else if (open) {
    text += "That is the edge of a grid, so nothing is claimed.";
  } else {
    text += std::string("Here the less exact orthogonalization wanted ") +
            (a == b  ? "the same rate, as far as this grid can tell."
             : a > b ? "a larger rate."
                     : "a smaller rate.");
  }
  return text + edge_text(*coarse) + edge_text(*fine) + size_text(*coarse, *fine);
}

}  // namespace draftlab
