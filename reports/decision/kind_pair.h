#pragma once

#include <string>
#include <vector>

#include "reports/checks/checked_study.h"

namespace draftlab {

// The best arm of each of two kinds of optimizer, trained from step 0 to the end under equal
// conditions, with the checks of these two alone.
struct KindPair {
  // Which layers the candidate's matrices are in: "" for all of the drafter; else the one type of
  // layer ("full_attention") that is its own, while all other tensors stay with AdamW.
  std::string layers;
  std::string folder;  // folder_name of the study that it is from
  Study study;
  const Arm* current = nullptr;  // into `study`
  const Arm* candidate = nullptr;
  Refusal refusal;
  std::string warnings;

  const SegmentConfig& config() const { return study.results.front().config; }
  const std::vector<const Result*>& current_runs() const { return current->chosen()->finished; }
  const std::vector<const Result*>& candidate_runs() const { return candidate->chosen()->finished; }
};

// Of every folder (of those named in `folders`, if any is) and every training configuration that
// has both; runs with switches are no part of it, nor arms whose routing is neither the usual one
// nor that of one type of layer.
std::vector<KindPair> kind_pairs(const std::vector<Study>& studies, const std::string& current,
                                 const std::string& candidate,
                                 const std::vector<std::string>& folders = {});

// Of those that are in every kind of layer, and whose sweep has a target where one is needed, the
// one that trains longest; null for none.
const KindPair* longest(const std::vector<KindPair>& pairs, bool with_target);

// The last part of the path of a study's folder; the sweep's name where it has none.
std::string folder_name(const Study& study);

// "budgets: AdamW, 450 steps and Muon, 450 steps; 450 steps, 3 and 3 runs"
std::string origin_text(const KindPair& pair);

// What is wrong with a pair, or "": checks that refuse.
std::string refusal_text(const KindPair& pair);

}  // namespace draftlab
