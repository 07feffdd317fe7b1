#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "reports/switches/switch_study.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// The counts of single prompts, where both have them: an older version wrote them at the end of
// each segment, not only of the run.
bool same_prompts(const EvaluationRow& a, const EvaluationRow& b) {
  return a.prompt_blocks.empty() || b.prompt_blocks.empty() ||
         (a.prompt_blocks == b.prompt_blocks && a.prompt_matches == b.prompt_matches);
}

// Everything that training decides; seconds differ from run to run.
bool same_numbers(const EvaluationRow& a, const EvaluationRow& b) {
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return a.step == b.step && a.tokens == b.tokens && same(a.loss, b.loss) && a.blocks == b.blocks &&
         a.prompts == b.prompts && a.slot_accuracy == b.slot_accuracy &&
         a.prefix_share == b.prefix_share && same(a.acceptance_length, b.acceptance_length) &&
         same(a.acceptance_length_argmax, b.acceptance_length_argmax) &&
         same(a.acceptance_length_per_prompt, b.acceptance_length_per_prompt) &&
         same(a.expected_acceptance_length, b.expected_acceptance_length) &&
         a.top_2_recall == b.top_2_recall && a.top_4_recall == b.top_4_recall &&
         a.top_8_recall == b.top_8_recall && same(a.top_8_length, b.top_8_length) &&
         a.tree_lengths == b.tree_lengths && same_prompts(a, b) && a.data_hash == b.data_hash;
}

// How a resumed run differs from the uninterrupted one; "": in nothing.
std::string difference_text(const Result& resumed, const Result& whole) {
  if (resumed.held_out.size() != whole.held_out.size()) {
    return "has " + counted(static_cast<int64_t>(resumed.held_out.size()), "evaluation") +
           ", the other " + std::to_string(whole.held_out.size());
  }
  for (size_t i = 0; i < whole.held_out.size(); ++i) {
    if (!same_numbers(resumed.held_out[i], whole.held_out[i]))
      return "differs from it at the evaluation of step " + grouped(whole.held_out[i].step);
  }
  if (resumed.weights_hash != whole.weights_hash) return "ends with other weights";
  return "";
}

}  // namespace

void verify(SwitchStudy& study) {
  const SwitchGroup& group = study.group;
  using Status = SwitchStudy::Status;
  study.status = Status::kNotVerified;
  if (group.resumed.finished.empty()) {
    study.status_text =
        "Not verified: no finished run was resumed at the switch with nothing changed, so nobody "
        "knows that stopping there changes nothing by itself, and no verdict is given.";
    if (!group.uninterrupted.finished.empty())
      study.status_text += " Differences are to the uninterrupted run.";
    return;
  }
  std::vector<std::string> compared;
  for (const Result* resumed : group.resumed.finished) {
    const auto whole = std::ranges::find_if(group.uninterrupted.finished, [&](const Result* run) {
      return run->seeds == resumed->seeds;
    });
    if (whole == group.uninterrupted.finished.end()) {
      study.status_text = "Not verified: there is no finished uninterrupted run of the seed of " +
                          resumed->run +
                          " to compare it with, so no verdict is given. Run one in the same sweep.";
      return;
    }
    const std::string difference = difference_text(*resumed, **whole);
    if (!difference.empty()) {
      study.status = Status::kRefused;
      study.status_text = "Refused: " + resumed->run +
                          ", which was resumed with nothing changed, " + difference +
                          " (uninterrupted: " + (*whole)->run +
                          "). Resuming itself changes the training here, so that no difference "
                          "behind the switch can be put down to the optimizer.";
      return;
    }
    compared.push_back(seed_text(resumed->seeds));
  }
  study.status = Status::kVerified;
  study.status_text =
      "Verified: resumed at the switch with nothing changed, the run has the weights and every "
      "held-out number of the uninterrupted one, bit for bit (" +
      counted(static_cast<int64_t>(compared.size()), "seed") + ").";
}

}  // namespace draftlab
