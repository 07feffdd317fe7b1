#include "reports/study/comparison.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/number_text.h"
#include "reports/stats/claim.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// Runs that ended by themselves, which is when their time is known.
bool ended(const Result& run, Clock clock) {
  return run.to_target(clock) && (run.done() || run.diverged());
}

}  // namespace

bool Comparison::claimed() const {
  return refusal == nullptr && may_be_claimed(difference.n, adjusted_p);
}

std::vector<Comparison> comparisons(const Study& study, Measure measure, View view) {
  const bool by_time = view == View::kEqualSeconds;
  std::vector<Comparison> all;
  std::vector<double> p;
  const std::vector<Arm>& arms = study.summary.arms;
  for (size_t i = 0; i < arms.size(); ++i) {
    for (size_t j = i + 1; j < arms.size(); ++j) {
      const Arm &a = arms[i], &b = arms[j];
      if (a.chosen() == nullptr || b.chosen() == nullptr) continue;
      Comparison one{&a, &b, {}, NAN, NAN, 0, nullptr};
      one.difference =
          paired_difference(*a.chosen(), *b.chosen(), measure, by_time ? at_equal_seconds : at_end);
      one.p = p_value(one.difference);
      const auto refusal =
          std::ranges::find_if(study.findings, [&](const FairnessFinding& finding) {
            return refuses(finding, a.name, b.name, by_time);
          });
      if (refusal != study.findings.end()) one.refusal = &*refusal;
      if (one.refusal == nullptr) p.push_back(one.p);
      all.push_back(one);
    }
  }
  const std::vector<double> adjusted = holm(p);
  size_t next = 0;
  for (Comparison& one : all) {
    if (one.refusal != nullptr) continue;
    one.adjusted_p = adjusted[next++];
    one.pairs = static_cast<int64_t>(p.size());
  }
  return all;
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
    return turned;
  }
  return {&a, &b, estimate({}), NAN, NAN, 0, nullptr};
}

std::string verdict(const Comparison& comparison, Measure measure) {
  const Estimate& d = comparison.difference;
  if (comparison.refusal != nullptr) return "no claim: " + comparison.refusal->id + " refuses";
  if (d.n == 0) return "no claim: no seed in common";
  if (std::isnan(d.mean)) return "no claim: not a number";
  if (d.n < kFewestSeeds) return "no claim: fewer than " + kFewestSeedsInWords + " seeds in common";
  if (!comparison.claimed()) return "no claim: adjusted p above " + kClaimLevelText;
  return (better(measure, d.mean, 0) ? comparison.a : comparison.b)->name + " is better";
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
  const std::string interval = "95 % interval of the difference " +
                               interval_text(d.low, d.high, decimals) + " over " +
                               std::to_string(d.n) + " paired seeds";
  if (d.n < kFewestSeeds) return size + " (" + interval + ": too few to claim a difference)";
  std::string p = "p " + p_text(comparison.adjusted_p);
  if (comparison.pairs > 1) p += " adjusted for " + counted(comparison.pairs, "comparison");
  if (comparison.claimed()) return size + " (" + interval + ", " + p + ")";
  return "no difference to " + other + " can be claimed (" + signed_text(d.mean, decimals) + ", " +
         interval + ", " + p + "; one of " + fixed(detectable_difference(d), decimals) +
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
