#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/draft_vocabulary.h"
#include "store/reader.h"

namespace draftlab {

// What one forward pass of a drafter sees. Sequences are laid end to end without padding: T rows in
// all. Blocks are sorted by sequence, then anchor. N blocks of B slots; row n*B+k is slot k of
// block n.
struct BlockBatch {
  at::Tensor context;                   // [T, L_t*H] taps, the drafter's dtype
  std::vector<int64_t> sequence_begin;  // [R+1] first context row of each sequence, then T
  std::vector<int64_t> block_sequence;  // [N] index of the block's sequence
  std::vector<int64_t>
      block_anchor;  // [N] position of its anchor inside that sequence; context rows below
                     // the anchor are visible, so a sequence may be cut at its last anchor
  std::vector<int64_t> token_ids;  // [N*B] slot 0 the anchor's token, the others the mask token
  std::vector<int64_t> labels;  // [N*B] draft-vocabulary ids; -1 in slot 0, where unsupervised, and
                                // where the label is not in the draft vocabulary
  std::vector<double> weights;  // [N*B] w_k where slot k is supervised, in the draft vocabulary or
                                // not; else 0
  // Of the target's own distributions, where they were asked for: its hidden states behind the
  // final norm, and for each supervised slot the row of position a+k-1, from which the target
  // predicts a+k.
  at::Tensor target_hidden;          // [U, H] the drafter's dtype; undefined: not asked for
  std::vector<int64_t> target_rows;  // [N*B] in 0..U-1; -1 where unsupervised
  int64_t block_size = 0;

  int64_t sequences() const { return static_cast<int64_t>(sequence_begin.size()) - 1; }
  int64_t blocks() const { return static_cast<int64_t>(block_anchor.size()); }
};

// One sequence and where its blocks start (rising; at least one).
struct AnchoredSequence {
  StoreRecord record;
  std::vector<int64_t> anchors;
};

// What slot k of a block with anchor a should predict.
enum class LabelSource {
  kData,    // the sequence's own token a+k
  kArgmax,  // the target's greedy choice after position a+k-1
};
LabelSource parse_label_source(const std::string& name);  // "data", "argmax"; throws Error

struct BlockOptions {
  int64_t block_size = 0;  // B
  int64_t mask_token_id = 0;
  double gamma = 0;  // w_k = exp(-(k-1)/gamma); 0: 1
  LabelSource labels = LabelSource::kData;
  bool target_distributions = false;  // REQUIRES: the store keeps final hidden states
  at::ScalarType dtype = at::kFloat;
};

// [N*B]: 1 where loss_mask[a+k] is set (SpecForge: a block may straddle a gap and is supervised
// again behind it), a+k lies in the sequence and k > 0.
std::vector<uint8_t> supervised_slots(std::span<const AnchoredSequence> sequences,
                                      int64_t block_size);

// Labels [N*B] as in BlockBatch.
std::vector<int64_t> block_labels(std::span<const AnchoredSequence> sequences, int64_t block_size,
                                  LabelSource source, const DraftVocabulary& vocabulary);

// Lays the sequences' context up to their last anchors and all blocks end to end, on the CPU.
BlockBatch make_block_batch(std::span<const AnchoredSequence> sequences,
                            const BlockOptions& options, const DraftVocabulary& vocabulary);

}  // namespace draftlab
