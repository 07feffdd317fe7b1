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

std::vector<uint8_t> supervised_slots(std::span<const AnchoredSequence> sequences,
                                      int64_t block_size) {
  std::vector<uint8_t> supervised;
  for (const auto& [record, anchors] : sequences) {
    const int64_t length = static_cast<int64_t>(record.token_ids.size());
    for (int64_t anchor : anchors) {
      supervised.push_back(0);
      for (int64_t s = anchor + 1; s < anchor + block_size; ++s)
        supervised.push_back(s < length && record.loss_mask[s]);
    }
  }
  return supervised;
}

std::vector<int64_t> block_labels(std::span<const AnchoredSequence> sequences, int64_t block_size,
                                  LabelSource source, const DraftVocabulary& vocabulary) {
  const std::vector<uint8_t> supervised = supervised_slots(sequences, block_size);
  std::vector<int64_t> labels;
  for (const auto& [record, anchors] : sequences) {
    for (int64_t anchor : anchors) {
      for (int64_t s = anchor; s < anchor + block_size; ++s) {
        const int64_t label = !supervised[labels.size()]     ? -1
                              : source == LabelSource::kData ? record.token_ids[s]
                                                             : record.target_argmax[s - 1];
        labels.push_back(label < 0 ? -1 : vocabulary.draft_id(label));
      }
    }
  }
  return labels;
}

namespace {

// The rows from which the target predicts the slots: those of each sequence from its first anchor
// to the last position that a supervised slot needs, end to end.
void add_target_rows(std::span<const AnchoredSequence> sequences,
                     std::span<const uint8_t> supervised, const BlockOptions& options,
                     BlockBatch& batch) {
  std::vector<at::Tensor> parts;
  int64_t rows = 0;  // of the sequences before
  batch.target_rows.assign(supervised.size(), -1);
  for (size_t i = 0, row = 0; i < sequences.size(); ++i) {
    const auto& [record, anchors] = sequences[i];
    TORCH_CHECK(!record.final_hidden.empty(), "make_block_batch: a record without final_hidden");
    int64_t end = anchors.front();
    for (int64_t anchor : anchors) {
      for (int64_t s = anchor; s < anchor + options.block_size; ++s, ++row) {
        if (!supervised[row]) continue;
        batch.target_rows[row] = rows + s - 1 - anchors.front();
        end = std::max(end, s);
      }
    }
    const auto length = static_cast<int64_t>(record.token_ids.size());
    const auto width = static_cast<int64_t>(record.final_hidden.size()) / length;
    parts.push_back(at::from_blob(const_cast<uint16_t*>(record.final_hidden.data()),
                                  {length, width}, at::kBFloat16)
                        .slice(0, anchors.front(), end)
                        .to(options.dtype));
    rows += end - anchors.front();
  }
  batch.target_hidden = at::cat(parts);
}

}  // namespace

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

  const std::vector<uint8_t> supervised = supervised_slots(sequences, options.block_size);
  batch.weights.resize(supervised.size(), 0);
  for (size_t row = 0; row < supervised.size(); ++row) {
    if (!supervised[row]) continue;
    const double slot = static_cast<double>(row % options.block_size);
    batch.weights[row] = options.gamma > 0 ? std::exp(-(slot - 1) / options.gamma) : 1;
  }
  if (options.target_distributions) add_target_rows(sequences, supervised, options, batch);

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
