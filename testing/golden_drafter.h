#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "kernels/named_tensors.h"
#include "model/anchors.h"
#include "model/block_batch.h"
#include "record/drafter_config.h"
#include "testing/owned_record.h"

namespace draftlab {

// For tests: the small drafter, data and weights, all float64, whose losses and gradients were
// computed with SpecForge's own classes (tests/golden/golden_peers.json).
struct GoldenDrafter {
  DrafterConfig config;
  NamedTensors parameters;
  at::Tensor embedding, head;  // [32, 16]
  at::Tensor hidden;           // [12, 48]
  std::vector<int64_t> anchors;

  GoldenDrafter() {
    config.hidden_size = 16;
    config.intermediate_size = 24;
    config.layer_options["num_attention_heads"] = 4;
    config.layer_options["num_key_value_heads"] = 2;
    config.layer_options["head_dim"] = 8;
    config.layer_types = {"sliding_attention", "full_attention"};
    config.layer_options["sliding_window"] = 6;
    config.block_size = 4;
    config.vocab_size = config.draft_vocab_size = 32;
    config.mask_token_id = 31;
    config.num_taps = 3;
    int64_t t = 0;
    for (const ParameterShape& shape : parameter_shapes(config)) {
      const bool matrix = shape.shape.size() == 2;
      parameters[shape.name] = sequence(++t, shape.shape, matrix ? 0.6 : 0.2, matrix ? 0 : 1);
    }
    embedding = sequence(101, {32, 16}, 2, 0);
    head = sequence(102, {32, 16}, 2, 0);
    hidden = sequence(103, {12, 48}, 4, 0);
    anchors = eligible_anchors(record().loss_mask);
  }

  // base + scale * (s / 2^31 - 1/2) for s of a linear congruential generator that starts from 1000
  // t + 7.
  static at::Tensor sequence(int64_t t, at::IntArrayRef shape, double scale, double base) {
    at::Tensor values = at::empty(shape, at::kDouble);
    int64_t s = 1000 * t + 7;
    for (int64_t i = 0; i < values.numel(); ++i) {
      s = (s * 1103515245 + 12345) % (int64_t{1} << 31);
      values.data_ptr<double>()[i] = base + scale * (static_cast<double>(s) / 0x1p31 - 0.5);
    }
    return values;
  }

  static OwnedRecord record() {
    std::vector<int32_t> ids(12);
    for (int32_t i = 0; i < 12; ++i) ids[i] = (7 * i + 3) % 31;
    return {ids, {0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0}, 48};
  }

  // All eligible anchors; gamma 0: none. `whole` keeps the context rows behind the last anchor.
  BlockBatch batch(double gamma, bool whole = false) const {
    const OwnedRecord owned = record();
    const std::vector<AnchoredSequence> sequences = {{owned.view(), anchors}};
    BlockBatch batch = make_block_batch(sequences,
                                        {.block_size = config.block_size,
                                         .mask_token_id = config.mask_token_id,
                                         .gamma = gamma,
                                         .dtype = at::kDouble},
                                        DraftVocabulary::whole(config.vocab_size));
    if (whole) batch.sequence_begin.back() = hidden.size(0);
    batch.context = hidden.slice(0, 0, batch.sequence_begin.back());
    return batch;
  }
};

}  // namespace draftlab
