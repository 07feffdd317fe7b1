#include "reports/decision/pillar.h"

#include <algorithm>
#include <cmath>

#include "reports/pipeline/pipeline_findings.h"
#include "reports/stats/claim.h"

namespace draftlab {

std::string to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFor:
      return "for";
    case Verdict::kAgainst:
      return "against";
    case Verdict::kUndecided:
      break;
  }
  return "undecided";
}

Judgement judge(const PillarNumber& number, double threshold, bool above_is_for) {
  if (std::isnan(number.value)) return {};
  Judgement judgement;
  const double half = (number.high - number.low) / 2;
  if (std::isnan(half)) return judgement;
  const bool above = number.low > threshold, below = number.high < threshold;
  // From the nearer end, so that an interval that is not symmetric decides where it ends.
  const double reach =
      number.value > threshold ? number.value - number.low : number.high - number.value;
  judgement.margin = reach > 0 ? std::abs(number.value - threshold) / reach
                               : std::numeric_limits<double>::infinity();
  if (number.n < kFewestSeeds) {
    judgement.margin = std::min(judgement.margin, 1.0);
    return judgement;
  }
  if (above || below) judgement.verdict = above == above_is_for ? Verdict::kFor : Verdict::kAgainst;
  return judgement;
}

Judgement judge_both(const Judgement& length, const Judgement& loss) {
  const bool opposite = length.verdict != Verdict::kUndecided &&
                        loss.verdict != Verdict::kUndecided && length.verdict != loss.verdict;
  if (opposite) return {Verdict::kUndecided, std::min({length.margin, loss.margin, 1.0})};
  return length;
}

void decide_by(const Judgement& judgement, Pillar& pillar) {
  pillar.verdict = judgement.verdict;
  pillar.margin = judgement.margin;
  if (pillar.verdict != Verdict::kUndecided) pillar.settle.clear();
}

std::string number_phrase(const PillarNumber& number) {
  const std::string text = short_number(number.value);
  if (std::isnan(number.low)) return text;
  return text + " (" + short_number(number.low) + " to " + short_number(number.high) + ")";
}

}  // namespace draftlab
