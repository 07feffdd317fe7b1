#pragma once

#include <cstdint>
#include <vector>

#include "decode/proposer.h"

namespace draftlab {

// Drafts without training what followed the last time in the prompt and the answer so far
// (model/look_up.h). A draft is one of certain tokens at every temperature.
class LookUpProposer : public Proposer {
 public:
  explicit LookUpProposer(int64_t longest) : longest_(longest) {}

  int64_t longest() const override { return longest_; }
  bool needs_taps() const override { return false; }
  void start(int64_t sequences) override { texts_.assign(sequences, {}); }
  void observe(int64_t sequence, std::span<const int32_t> tokens, const at::Tensor&) override {
    texts_[sequence].insert(texts_[sequence].end(), tokens.begin(), tokens.end());
  }
  Draft propose(int64_t sequence, int32_t anchor, double temperature, Random& random) override;

 private:
  int64_t longest_;
  std::vector<std::vector<int32_t>> texts_;  // what the target has passed of each sequence
};

}  // namespace draftlab
