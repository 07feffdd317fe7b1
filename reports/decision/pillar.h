#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "reports/decision/decision_context.h"
#include "reports/decision/kind_pair.h"

namespace draftlab {

// One of the questions that a decision rests on, as data: what was asked, what was measured, by
// which rule that speaks for or against the candidate, and what would settle it.

enum class Verdict { kFor, kAgainst, kUndecided };
std::string to_text(Verdict verdict);  // "for", "against", "undecided"

struct PillarNumber {
  std::string what;
  double value = 0;
  double low = std::numeric_limits<double>::quiet_NaN(), high = low;  // 95 %; NaN: no interval
  int64_t n = 0;  // seeds, budgets or timed steps that it rests on; 0: it follows from the context
};

// A number that a pillar's verdict rests on, and from where on it speaks for the candidate.
struct Balance {
  PillarNumber number;
  double threshold = 0;  // 1 of a ratio, 0 of a difference
  bool above_is_for = true;
  std::string name = {};  // what tells it from the pillar's others, in a word or two
};

struct Pillar {
  std::string name, question;
  std::vector<Balance> balances;  // drawn on the page; empty where nothing was measured
  std::vector<PillarNumber> numbers;
  // Steps with the candidate over those with the current optimizer to one end, where the pillar
  // measures them itself: pillars that do must agree.
  std::optional<PillarNumber> steps;
  std::string rule;  // with its threshold
  Verdict verdict = Verdict::kUndecided;
  std::string reason;                // why, from the numbers
  std::string settle;                // what would settle it; "" where it is settled
  std::vector<std::string> limits;   // what must be known before believing it
  std::vector<std::string> origins;  // folders and runs that its numbers come from
  // How far the number that decides lies from its threshold, in halves of its interval. Above 1:
  // decided. NaN: there is no such number.
  double margin = std::numeric_limits<double>::quiet_NaN();
};

// A number against a threshold: for or against where the whole interval lies beyond it, undecided
// otherwise, and below three of what it rests on.
struct Judgement {
  Verdict verdict = Verdict::kUndecided;
  double margin = std::numeric_limits<double>::quiet_NaN();
};
Judgement judge(const PillarNumber& number, double threshold, bool above_is_for);
// Acceptance length is what a drafter is for, so it decides; undecided where the loss says the
// opposite.
Judgement judge_both(const Judgement& length, const Judgement& loss);
// What is decided needs nothing to settle it.
void decide_by(const Judgement& judgement, Pillar& pillar);

// "1.32 (1.2 to 1.5)"
std::string number_phrase(const PillarNumber& number);

// The pillars; pure functions of the studies and the context. Each takes what it needs from one
// folder, unless the context names several for it ("evidence").

// `annealed`: steps over steps from the ends of annealed budgets, which then count in place of
// those that the curves tell.
Pillar bottleneck_pillar(const std::vector<KindPair>& pairs, const DecisionContext& context,
                         const std::optional<PillarNumber>& annealed = std::nullopt);
// The same question for the rest of this run: steps behind the switch, of runs that changed
// against those that went on. A step is as long as between `pairs`.
Pillar behind_switch_pillar(const std::vector<Study>& studies, const std::vector<KindPair>& pairs,
                            const DecisionContext& context);
Pillar switch_pillar(const std::vector<Study>& studies, const DecisionContext& context);
Pillar architecture_pillar(const std::vector<KindPair>& pairs, const DecisionContext& context);
Pillar returns_pillar(const std::vector<KindPair>& pairs, const DecisionContext& context);

}  // namespace draftlab
