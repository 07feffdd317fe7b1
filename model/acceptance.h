#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace draftlab {

// How many drafted tokens would be accepted, teacher-forced: a slot is right if its id is its
// label. An id or label of -1 (a chain that ended, a label outside the draft vocabulary) is never
// right.
struct Acceptance {
  int64_t blocks = 0;
  int64_t prompts = 0;  // with at least one block
  std::vector<double>
      slot_accuracy;  // [B-1] share of blocks whose slot k is right, whatever the others
  std::vector<double> prefix_share;  // [B-1] share of blocks whose slots 1..k are all right
  double acceptance_length =
      0;  // 1 + mean leading right slots: the target's own next token is free
  double acceptance_length_per_prompt = 0;  // mean over prompts of their own acceptance length
  // [P] of each prompt, by rising id: its blocks, and the sum of their leading right slots.
  std::vector<int64_t> prompt_blocks, prompt_matches;
};

class AcceptanceCounter {
 public:
  explicit AcceptanceCounter(int64_t block_size);
  // ids, labels [N*B], slot 0 ignored; prompts [N] names the prompt of each block.
  void add(std::span<const int64_t> ids, std::span<const int64_t> labels,
           std::span<const int64_t> prompts);
  // Shares and means are NaN if no block was added.
  Acceptance result() const;

 private:
  struct Prompt {
    int64_t blocks = 0, leading = 0;
  };
  int64_t block_size_;
  std::vector<int64_t> right_, prefix_;  // [B-1] counts of blocks
  std::map<int64_t, Prompt> prompts_;
};

// What speculative sampling would accept of blocks whose slots k = 1..B-1 are accepted with the
// probabilities a_k = sum of min(p, q), teacher-forced: as if the target's distributions stayed
// those along the data's tokens whatever was accepted before. A NaN stays one.
struct ExpectedAcceptance {
  std::vector<double> slots;  // [B-1] mean over blocks of a_k
  double length = 0;          // 1 + mean over blocks of the sum over k of a_1 ... a_k
};

class ExpectedAcceptanceCounter {
 public:
  explicit ExpectedAcceptanceCounter(int64_t block_size);
  void add(std::span<const double> accepted);  // [N*B], slot 0 ignored
  ExpectedAcceptance result() const;           // NaN if no block was added

 private:
  int64_t blocks_ = 0;
  std::vector<double> slots_;  // [B-1] sums over blocks
  double leading_ = 0;
};

}  // namespace draftlab
