#include "reports/study/comparison.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <vector>

#include "base/number_text.h"
#include "reports/stats/claim.h"
#include "reports/study/family.h"
#include "reports/study/paired_curve.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// Runs that ended by themselves, which is when their time is known.
bool ended(const Result& run, Clock clock) {
  return run.to_target(clock) && (run.done() || run.diverged());
}

double least_spread(const Arm& a, const Arm& b) {
  return one_block(a.chosen()->finished, b.chosen()->finished);
}

bool is_about(const Question& question, const Comparison& one) {
  return (question.arm == one.a->name && question.against == one.b->name) ||
         (question.arm == one.b->name && question.against == one.a->name);
}

// Adjusts the p of the questions about `measure` for all questions, whatever measure they ask
// about.
void adjust(const Family& family, Measure measure, std::vector<Comparison>& all) {
  std::vector<Comparison*> asked;
  for (Comparison& one : all) {
    if (!one.asked || one.refusal != nullptr) continue;
    asked.push_back(&one);
  }
  // Those about another measure count, of the same pair too, though their numbers are told
  // elsewhere.
  const auto others =
      static_cast<int64_t>(std::ranges::count_if(family.questions, [&](const Question& question) {
        return question.metric != kind_of(measure).key &&
               std::ranges::any_of(all, [&](const Comparison& one) {
                 return one.refusal == nullptr && is_about(question, one);
               });
      }));
  std::vector<double> p, same;
  for (const Comparison* one : asked) {
    p.push_back(one->p);
    same.push_back(one->same_p);
  }
  // A question whose p is not known here may be the smallest: each is multiplied by all.
  p.resize(p.size() + static_cast<size_t>(others), NAN);
  same.resize(p.size(), NAN);
  holm_in_pairs(p, same);
  for (size_t i = 0; i < asked.size(); ++i) {
    Comparison& one = *asked[i];
    one.adjusted_p = p[i];
    one.same_p = same[i];
    one.pairs = static_cast<int64_t>(p.size());
    one.interval = interval_of_claim(one.difference, one.p, one.adjusted_p, one.pairs,
                                     least_spread(*one.a, *one.b));
  }
}

}  // namespace

bool Comparison::claimed() const {
  return asked && refusal == nullptr && may_be_claimed(difference.n, adjusted_p);
}

bool Comparison::equivalent() const {
  return asked && refusal == nullptr && same > 0 && may_be_claimed(difference.n, same_p);
}

double Comparison::detectable() const {
  return detectable_difference(difference,
                               kClaimLevel / static_cast<double>(std::max<int64_t>(1, pairs)),
                               least_spread(*a, *b));
}

std::vector<Comparison> comparisons(const Study& study, Measure measure, View view) {
  const bool by_time = view == View::kEqualSeconds;
  const Family family = family_of(study);
  std::vector<Comparison> all;
  const std::vector<Arm>& arms = study.summary.arms;
  for (size_t i = 0; i < arms.size(); ++i) {
    for (size_t j = i + 1; j < arms.size(); ++j) {
      const Arm &a = arms[i], &b = arms[j];
      if (a.chosen() == nullptr || b.chosen() == nullptr) continue;
      Comparison one{&a, &b,
                     paired_difference(*a.chosen(), *b.chosen(), measure,
                                       by_time ? at_equal_seconds : at_end)};
      one.asked = !by_time && family.asks(a.name, b.name, measure);
      one.same = measure == study.summary.chosen_by ? family.same : 0;
      one.interval = one.difference;
      const double least = least_spread(a, b);
      one.p = p_value(one.difference, least);
      one.same_p = one.same > 0 ? equivalence_p(one.difference, one.same, least) : NAN;
      const auto refusal =
          std::ranges::find_if(study.findings, [&](const FairnessFinding& finding) {
            return refuses(finding, a.name, b.name, by_time);
          });
      if (refusal != study.findings.end()) one.refusal = &*refusal;
      all.push_back(one);
    }
  }
  adjust(family, measure, all);
  return all;
}

std::vector<Comparison> tabulated(const Study& study, const std::vector<Comparison>& all,
                                  Measure measure, View view) {
  const SampleOf of = view == View::kEqualSeconds ? at_equal_seconds : at_end;
  const auto mean = [&](const Arm* arm) { return of(*arm->chosen(), measure).estimate.mean; };
  std::vector<const Arm*> best;
  for (const Arm& arm : study.summary.arms)
    if (arm.chosen() != nullptr) best.push_back(&arm);
  if (best.size() <= kArmsOfAllPairs) return all;
  std::erase_if(best, [&](const Arm* arm) { return std::isnan(mean(arm)); });
  std::ranges::stable_sort(
      best, [&](const Arm* a, const Arm* b) { return better(measure, mean(a), mean(b)); });
  best.resize(std::min(best.size(), kArmsOfAllPairs));
  const std::set<const Arm*> among(best.begin(), best.end());
  const Arm* reference = &study.summary.arms[study.summary.reference];
  std::vector<Comparison> result;
  std::ranges::copy_if(all, std::back_inserter(result), [&](const Comparison& one) {
    return one.asked || one.a == reference || one.b == reference ||
           (among.contains(one.a) && among.contains(one.b));
  });
  return result;
}

Comparison comparison_of(const std::vector<Comparison>& all, const Arm& a, const Arm& b) {
  for (const Comparison& one : all) {
    if (one.a == &a && one.b == &b) return one;
    if (one.a != &b || one.b != &a) continue;
    Comparison turned = one;
    std::swap(turned.a, turned.b);
    turned.difference.mean = -one.difference.mean;
    turned.difference.low = -one.difference.high;
    turned.difference.high = -one.difference.low;
    turned.interval.mean = -one.interval.mean;
    turned.interval.low = -one.interval.high;
    turned.interval.high = -one.interval.low;
    return turned;
  }
  return {&a, &b, estimate({}), false, estimate({})};
}

std::string verdict(const Comparison& comparison, Measure measure) {
  const Estimate& d = comparison.difference;
  if (comparison.refusal != nullptr) return "no claim: " + comparison.refusal->id + " refuses";
  if (d.n == 0) return "no claim: no seed in common";
  if (std::isnan(d.mean)) return "no claim: not a number";
  if (d.n < kFewestSeeds) return "no claim: fewer than " + kFewestSeedsInWords + " seeds in common";
  if (!comparison.asked) return "no claim: not asked";
  if (comparison.equivalent()) return "no difference beyond " + number_text(comparison.same);
  if (!comparison.claimed()) return "no claim: adjusted p above " + kClaimLevelText;
  return (better(measure, d.mean, 0) ? comparison.a : comparison.b)->name + " is better";
}

std::string interval_phrase(const Estimate& difference, const Estimate& of_claim) {
  return difference.low == of_claim.low ? "95 % interval of the difference "
                                        : "interval of the difference at the level of the claim ";
}

std::string p_text(double p) { return p < 0.001 ? "below 0.001" : significant(p, 2); }

std::string comparison_text(const Comparison& comparison, Measure measure) {
  const int decimals = kind_of(measure).decimals;
  const Estimate& d = comparison.difference;
  const std::string& other = comparison.b->name;
  if (d.n == 0)
    return "it shares no finished seed with " + other + ", so no difference can be claimed";
  if (std::isnan(d.mean)) return "its difference to " + other + " is not a number";
  const std::string size =
      fixed(std::abs(d.mean), decimals) + (d.mean < 0 ? " below " : " above ") + other;
  if (d.n == 1) return size + " (one paired seed, from which no difference can be claimed)";
  const std::string interval =
      interval_phrase(d, comparison.interval) +
      interval_text(comparison.interval.low, comparison.interval.high, decimals) + " over " +
      std::to_string(d.n) + " paired seeds";
  if (d.n < kFewestSeeds) return size + " (" + interval + ": too few to claim a difference)";
  if (!comparison.asked)
    return size + " (" + interval + "; no question of this sweep, so nothing is claimed)";
  std::string p = "p " + p_text(comparison.adjusted_p);
  if (comparison.pairs > 1) p += " adjusted for " + counted(comparison.pairs, "question");
  if (comparison.equivalent()) {
    return "no difference to " + other + " beyond " + number_text(comparison.same) + " (" +
           signed_text(d.mean, decimals) + ", " + interval + ", p of a larger one " +
           p_text(comparison.same_p) + ")";
  }
  if (comparison.claimed()) return size + " (" + interval + ", " + p + ")";
  return "no difference to " + other + " can be claimed (" + signed_text(d.mean, decimals) + ", " +
         interval + ", " + p + "; one of " + fixed(comparison.detectable(), decimals) +
         " would show 8 times in 10)";
}

Speedup speedup_at_target(const Setting& reference, const Setting& setting, Clock clock) {
  Speedup result{
      speedup(reference.target.median(clock), setting.target.median(clock)), 0, 0, NAN, NAN, NAN};
  std::vector<double> logarithms;
  for (const Result* a : reference.runs) {
    for (const Result* b : setting.runs) {
      if (!(a->seeds == b->seeds) || !ended(*a, clock) || !ended(*b, clock)) continue;
      ++result.seeds;
      const double from = *a->to_target(clock), to = *b->to_target(clock);
      if (!std::isfinite(from) || !std::isfinite(to)) continue;
      ++result.reached;
      logarithms.push_back(std::log(from / to));
    }
  }
  if (result.reached < result.seeds) return result;
  const Estimate mean = estimate(logarithms);
  result.mean = std::exp(mean.mean);
  result.low = std::exp(mean.low);
  result.high = std::exp(mean.high);
  return result;
}

}  // namespace draftlab
