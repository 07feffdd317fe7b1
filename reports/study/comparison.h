#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "reports/study/study.h"

namespace draftlab {

// Where arms are compared: at the planned last step, or when the fastest run ends.
enum class View { kEqualSteps, kEqualSeconds };

// Arm `a` against arm `b`, by the runs of their chosen settings with the same seeds.
struct Comparison {
  const Arm* a;
  const Arm* b;
  Estimate difference;  // a - b, with its own 95 % interval
  bool asked = false;   // by the study's family of questions (family.h); else nothing is claimed
  // Of a question: the interval that excludes 0 where its claim stands, which is wider than the 95
  // % one where several are asked. Else `difference`.
  Estimate interval = {};
  double p = NAN;  // two-sided paired t; values are taken to differ by one block at least
  // Both adjusted together over the questions that no check refuses (holm_in_pairs): that there is
  // no difference, and that it is beyond `same`.
  double adjusted_p = NAN, same_p = NAN;
  double same = 0;    // the family's; 0 where the measure is not the deciding one
  int64_t pairs = 0;  // how many these questions are
  const FairnessFinding* refusal = nullptr;  // the first that concerns the pair; null: none

  // No refusal, and a difference that may be claimed among all questions (reports/stats/claim.h).
  bool claimed() const;
  // No refusal, and surely no difference beyond `same`.
  bool equivalent() const;
  // The smallest true difference that 8 of 10 such studies would claim.
  double detectable() const;
};

// Every pair of arms with a chosen setting, `a` before `b` in the sweep. Points into `study`.
std::vector<Comparison> comparisons(const Study& study, Measure measure, View view);

// Pairs grow as the square of the arms. Of up to so many arms a table has all of them; of more, the
// pairs of the reference, those of a question, and those of so many arms with the best means of
// `measure`; in the order of `all`, the study's comparisons.
inline constexpr size_t kArmsOfAllPairs = 40;
std::vector<Comparison> tabulated(const Study& study, const std::vector<Comparison>& all,
                                  Measure measure, View view);

// The one of these two arms, in this order. REQUIRES: it is there, maybe the other way round.
Comparison comparison_of(const std::vector<Comparison>& all, const Arm& a, const Arm& b);

// "0.118 above b (95 % interval of the difference 0.082 to 0.154 over 3 paired seeds, p 0.004)"
std::string comparison_text(const Comparison& comparison, Measure measure);
// "a is better", "no difference beyond 0.02", or why nothing is claimed: "no claim: F12 refuses".
std::string verdict(const Comparison& comparison, Measure measure);
// "95 % interval of the difference ", or what stands before the wider one of a claim among several.
std::string interval_phrase(const Estimate& difference, const Estimate& of_claim);
// "0.021", "below 0.001"
std::string p_text(double p);

// How many times less an arm needs than the reference for the plan's target, at one clock.
struct Speedup {
  // Median of the reference over that of the arm (statistics.h). Infinity or 0 where one of them
  // never arrives, NaN where neither does.
  double ratio;
  // Over the seeds that ended in both: how many these are, and in how many both arrived.
  int64_t seeds = 0, reached = 0;
  // Geometric mean of the ratios of runs with equal seeds, with the 95 % Student-t interval on
  // their logarithms. NaN unless both arrived in all of them; no interval for one.
  double mean, low, high;
};
Speedup speedup_at_target(const Setting& reference, const Setting& setting, Clock clock);

}  // namespace draftlab
