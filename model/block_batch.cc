#include "model/block_batch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"

namespace draftlab {

LabelSource parse_label_source(const std::string& name) {
  require_one_of(name, {"data", "argmax"}, "labels");
  return name == "data" ? LabelSource::kData : LabelSource::kArgmax;
}

std::vector<int64_t> block_labels(std::span<const AnchoredSequence> sequences, int64_t block_size,
                                  LabelSource source, const DraftVocabulary& vocabulary) {
  std::vector<int64_t> labels;
  for (const auto& [record, anchors] : sequences) {
    const int64_t length = static_cast<int64_t>(record.token_ids.size());
    for (int64_t anchor : anchors) {
      labels.push_back(-1);
      for (int64_t s = anchor + 1; s < anchor + block_size; ++s) {
        const bool supervised = s < length && record.loss_mask[s];
        const int64_t label = !supervised                    ? -1
                              : source == LabelSource::kData ? record.token_ids[s]
                                                             : record.target_argmax[s - 1];
        labels.push_back(label < 0 ? -1 : vocabulary.draft_id(label));
      }
    }
  }
  return labels;
}

BlockBatch make_block_batch(std::span<const AnchoredSequence> sequences,
                            const BlockOptions& options, const DraftVocabulary& vocabulary) {
  BlockBatch batch;
  batch.block_size = options.block_size;
  batch.labels = block_labels(sequences, options.block_size, options.labels, vocabulary);
  batch.sequence_begin = {0};
  int64_t width = 0;  // of one row of taps
  for (size_t i = 0; i < sequences.size(); ++i) {
    const auto& [record, anchors] = sequences[i];
    TORCH_CHECK(!anchors.empty(), "make_block_batch: a sequence without anchors");
    for (int64_t anchor : anchors) {
      batch.block_sequence.push_back(static_cast<int64_t>(i));
      batch.block_anchor.push_back(anchor);
      batch.token_ids.push_back(record.token_ids[anchor]);
      batch.token_ids.insert(batch.token_ids.end(), options.block_size - 1, options.mask_token_id);
    }
    width = static_cast<int64_t>(record.taps.size() / record.token_ids.size());
    batch.sequence_begin.push_back(batch.sequence_begin.back() + anchors.back());
  }

  batch.weights.resize(batch.labels.size(), 0);
  for (size_t row = 0; row < batch.labels.size(); ++row) {
    if (batch.labels[row] < 0) continue;
    const double slot = static_cast<double>(row % options.block_size);
    batch.weights[row] = options.gamma > 0 ? std::exp(-(slot - 1) / options.gamma) : 1;
  }

  batch.context = at::empty({batch.sequence_begin.back(), width}, options.dtype);
  for (size_t i = 0; i < sequences.size(); ++i) {
    const int64_t begin = batch.sequence_begin[i], end = batch.sequence_begin[i + 1];
    // from_blob wants a pointer that it may write through; the map is only read.
    const at::Tensor taps = at::from_blob(const_cast<uint16_t*>(sequences[i].record.taps.data()),
                                          {end - begin, width}, at::kBFloat16);
    batch.context.slice(0, begin, end).copy_(taps);
  }
  return batch;
}

}  // namespace draftlab
