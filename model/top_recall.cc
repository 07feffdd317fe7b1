#include "model/top_recall.h"

#include <algorithm>
#include <cassert>

namespace draftlab {

TopRecallCounter::TopRecallCounter(int64_t block_size, int64_t k)
    : block_size_(block_size), k_(k), found_((block_size - 1) * k, 0) {}

void TopRecallCounter::add(std::span<const int64_t> ids, std::span<const int64_t> labels) {
  assert(labels.size() % block_size_ == 0 && ids.size() == labels.size() * k_);
  for (size_t first = 0; first < labels.size(); first += block_size_) {
    bool all_found = true;
    for (int64_t slot = 1; slot < block_size_; ++slot) {
      const size_t row = first + slot;
      const auto list = ids.subspan(row * k_, k_);
      const auto place = std::ranges::find(list, labels[row]) - list.begin();
      const bool found = labels[row] >= 0 && place < k_;
      if (found) ++found_[(slot - 1) * k_ + place];
      all_found = all_found && found;
      leading_ += all_found;
    }
    ++blocks_;
  }
}

std::vector<double> TopRecallCounter::share(int64_t m) const {
  assert(m <= k_);
  std::vector<double> shares;
  for (int64_t slot = 1; slot < block_size_; ++slot) {
    int64_t count = 0;
    for (int64_t place = 0; place < m; ++place) count += found_[(slot - 1) * k_ + place];
    shares.push_back(static_cast<double>(count) / static_cast<double>(blocks_));
  }
  return shares;
}

double TopRecallCounter::length() const {
  return 1 + static_cast<double>(leading_) / static_cast<double>(blocks_);
}

}  // namespace draftlab
