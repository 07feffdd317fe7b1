#pragma once

#include <cstdint>
#include <vector>

namespace draftlab {

// Three numbers that are all called acceptance length somewhere; docs/statistics.md says where.

// 1 + the mean number of leading matches of a block: 1 + sum of prefix_share, the shares of blocks
// whose slots 1..k all match. This is what draftlab means.
double joint_acceptance_length(const std::vector<double>& prefix_share);
// 1 + sum over k of the product of the slots' own accuracies 1..k: what the above would be if
// slots matched independently of each other.
double product_acceptance_length(const std::vector<double>& slot_accuracy);
// The mean of the slots' own accuracies: a share, not a length.
double marginal_accuracy(const std::vector<double>& slot_accuracy);

// A mean over prompts with its 95 % interval from resampling prompts, not blocks: the blocks of one
// text are alike. Percentile-t (Efron and Tibshirani 1993, section 12.5) with 1,999 resamples of a
// fixed stream, so that equal counts give equal bits, in whatever order. low and high are NaN below
// five prompts.
struct PromptMean {
  int64_t prompts = 0;
  double value, low, high;
};

// Acceptance length from each prompt's blocks and leading matches: pooled over all blocks, and as
// the mean over prompts of their own. Prompts without a block are in neither; NaN if all are.
// REQUIRES: lists of one size.
PromptMean pooled_acceptance_length(const std::vector<int64_t>& blocks,
                                    const std::vector<int64_t>& matches);
PromptMean per_prompt_acceptance_length(const std::vector<int64_t>& blocks,
                                        const std::vector<int64_t>& matches);

}  // namespace draftlab
