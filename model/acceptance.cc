#include "model/acceptance.h"

#include <cassert>

namespace draftlab {

ExpectedAcceptanceCounter::ExpectedAcceptanceCounter(int64_t block_size)
    : slots_(block_size - 1, 0) {}

void ExpectedAcceptanceCounter::add(std::span<const double> accepted) {
  const size_t block_size = slots_.size() + 1;
  assert(accepted.size() % block_size == 0);
  for (size_t first = 0; first < accepted.size(); first += block_size) {
    double product = 1;
    for (size_t k = 1; k < block_size; ++k) {
      product *= accepted[first + k];
      slots_[k - 1] += accepted[first + k];
      leading_ += product;
    }
    ++blocks_;
  }
}

ExpectedAcceptance ExpectedAcceptanceCounter::result() const {
  const auto blocks = static_cast<double>(blocks_);
  ExpectedAcceptance result{slots_, 1 + leading_ / blocks};
  for (double& slot : result.slots) slot /= blocks;
  return result;
}

AcceptanceCounter::AcceptanceCounter(int64_t block_size)
    : block_size_(block_size), right_(block_size - 1, 0), prefix_(block_size - 1, 0) {}

void AcceptanceCounter::add(std::span<const int64_t> ids, std::span<const int64_t> labels,
                            std::span<const int64_t> prompts) {
  assert(ids.size() == labels.size() && ids.size() == prompts.size() * block_size_);
  for (size_t block = 0; block < prompts.size(); ++block) {
    Prompt& prompt = prompts_[prompts[block]];
    ++prompt.blocks;
    bool all_right = true;
    for (int64_t k = 1; k < block_size_; ++k) {
      const size_t row = block * block_size_ + k;
      const bool right = ids[row] >= 0 && ids[row] == labels[row];
      all_right = all_right && right;
      right_[k - 1] += right;
      prefix_[k - 1] += all_right;
      prompt.leading += all_right;
    }
  }
}

Acceptance AcceptanceCounter::result() const {
  Acceptance result;
  int64_t leading = 0;
  double prompt_means = 0;
  for (const auto& [_, prompt] : prompts_) {
    result.blocks += prompt.blocks;
    leading += prompt.leading;
    result.prompt_blocks.push_back(prompt.blocks);
    result.prompt_matches.push_back(prompt.leading);
    prompt_means += static_cast<double>(prompt.leading) / static_cast<double>(prompt.blocks);
  }
  result.prompts = static_cast<int64_t>(prompts_.size());
  const double blocks = static_cast<double>(result.blocks);
  for (int64_t count : right_) result.slot_accuracy.push_back(static_cast<double>(count) / blocks);
  for (int64_t count : prefix_) result.prefix_share.push_back(static_cast<double>(count) / blocks);
  result.acceptance_length = 1 + static_cast<double>(leading) / blocks;
  result.acceptance_length_per_prompt = 1 + prompt_means / static_cast<double>(result.prompts);
  return result;
}

}  // namespace draftlab
