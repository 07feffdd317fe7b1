#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "reports/study/fairness_finding.h"
#include "reports/study/paired_curve.h"
#include "reports/study/study.h"
#include "reports/switches/switch_group.h"

namespace draftlab {

// What a change of the optimizer in mid-run did, against the run that went on without it. Pure
// functions of results; writers compute nothing.

// A difference of final values, adjusted (Holm) over all variants of its group and both measures.
struct SwitchComparison {
  Estimate difference = estimate({});
  Estimate interval = estimate({});  // excludes 0 just where the p allows a claim
  double p = std::numeric_limits<double>::quiet_NaN(), adjusted_p = p;
  double least_sd = 0;  // what its values are too coarse to fall below (one_block)
  int64_t comparisons = 0;
  int64_t diverged = 0;   // runs of the setting, whose numbers are in no mean
  bool may_claim = true;  // of a study that is verified
  // Three paired seeds, none diverged, and a difference that stands among all at 5 %.
  bool claimed() const;
  // The smallest true difference that 8 of 10 such studies would claim.
  double detectable() const;
};

// Update over weights (root mean squares) in the first step behind the switch, mean over seeds.
struct FirstUpdate {
  std::string kind;                 // layer_kind; "" for all tensors together
  std::string rule;                 // behind the switch
  double ratio = 0, reference = 0;  // of the variant, and of A'
};

// Tensors whose update rule is another one behind the switch.
struct RuleChange {
  std::string from, to;
  int64_t tensors = 0, parameters = 0;
};

struct FateCount {
  std::string fate, buffer, how;  // as in TransferRow
  int64_t tensors = 0;
};

// One variant at its best rate.
struct SwitchOutcome {
  PairedCurve loss, length;  // against A'; length: acceptance length
  Transient transient;       // of the loss
  SwitchComparison final_loss, final_length;
  Estimate late_loss = estimate({}), late_length = estimate({});  // against M; n 0: no M
  std::vector<FirstUpdate> first_updates;  // all together first; empty: not recorded
  double state_bytes_before = 0, state_bytes_after = 0;
  std::vector<RuleChange> changes;
  std::vector<FateCount> fates;
};

// The same variant with its state transferred and reset, each at its own best rate.
struct TransferGain {
  size_t transfer = 0, reset = 0;  // indices of variants
  Estimate loss, length;           // transfer - reset
};

struct SwitchStudy {
  enum class Status { kVerified, kNotVerified, kRefused };
  SwitchGroup group;
  Status status = Status::kNotVerified;
  std::string status_text;              // what was verified, or why it was not
  std::vector<SwitchOutcome> outcomes;  // of group.variants, one by one; empty where refused
  std::vector<TransferGain> gains;
  std::vector<FairnessFinding> notes;  // what limits the comparison; without ids
};

std::vector<SwitchStudy> switch_studies(const std::vector<Result>& results, Measure chosen_by,
                                        Split chosen_on);
std::vector<SwitchStudy> switch_studies(const Study& study);

// What a study says: one sentence or more for each variant, from its numbers alone. Without
// verification there is no verdict, and the first sentence says so.
std::vector<std::string> switch_sentences(const SwitchStudy& study);

// "AdamW lr=0.005 to step 15 of 30"
std::string switch_title(const SwitchGroup& group);
// "half way through training (50 %), behind the warm-up, at 75 % of the peak rate" and the like.
std::string place_text(const SwitchPlace& place);
// "never", "20 steps"
std::string length_text(double steps);

// switch_verification.cc: whether a resumed run is the uninterrupted one, bit for bit; sets the
// study's status.
void verify(SwitchStudy& study);

// switch_notes.cc: what limits the comparison of a group.
std::vector<FairnessFinding> switch_notes(const SwitchGroup& group,
                                          const std::vector<SwitchOutcome>& outcomes,
                                          Split chosen_on);

// switch_study.csv: one row per study, variant, rate, seed ("mean": over seeds) and evaluation; ""
// without a study.
std::string switch_study_csv(const std::vector<SwitchStudy>& studies);

}  // namespace draftlab
