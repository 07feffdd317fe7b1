#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "model/block_batch.h"
#include "model/draft_vocabulary.h"
#include "record/metrics.h"
#include "record/segment.h"
#include "record/split.h"
#include "store/reader.h"
#include "target_model/frozen.h"

namespace draftlab {

// What a segment trains and evaluates on: the store's records by use, the draft vocabulary counted
// on the training part, and batches as pure functions of the step. Throws Error if the store is not
// the planned one, does not fit the drafter, or has too few usable sequences.
class TrainingData {
 public:
  TrainingData(const SegmentConfig& config, const std::filesystem::path& store_folder);

  // Records that can hold a block, as indices into the store.
  const SplitRecords& split() const { return split_; }
  const DraftVocabulary& vocabulary() const { return vocabulary_; }
  const FrozenTensors& frozen() const { return frozen_; }  // on the CPU

  // The batch of optimizer step t = 0, 1, ...
  BlockBatch training_batch(int64_t step);

  // All evaluation blocks of these records, in order.
  std::vector<AnchoredSequence> evaluation_sequences(std::span<const int64_t> records);

  // These blocks with the training labels, and, where they were asked for, the target's own
  // distributions; tensors on the training device.
  BlockBatch make_batch(std::span<const AnchoredSequence> sequences,
                        bool target_distributions) const;
  // Whether the store has the target's own distributions.
  bool keeps_target_distributions() const { return !store_.manifest().final_hidden.empty(); }

  // The bigram chain of the training part on the held-out blocks, and how many held-out sequences
  // the training part has too.
  Baselines baselines();

 private:
  std::vector<StoreRecord> records(std::span<const int64_t> indices);

  SegmentConfig config_;
  StoreReader store_;
  FrozenTensors frozen_;
  SplitRecords split_;
  DraftVocabulary vocabulary_;
};

}  // namespace draftlab
