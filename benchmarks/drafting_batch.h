#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "base/random.h"
#include "model/anchors.h"
#include "model/block_batch.h"
#include "record/drafter_config.h"

namespace draftlab {

// For benchmarks: a batch of random data. `sequences` of `length` tokens, all supervised, with
// `anchors` blocks each; context up to the last anchor.
inline BlockBatch random_batch(const DrafterConfig& config, int64_t sequences, int64_t length,
                               int64_t anchors) {
  Random random(1, "batch");
  BlockBatch batch;
  batch.block_size = config.block_size;
  batch.sequence_begin = {0};
  int64_t targets = 0;  // rows of the target's final hidden states
  for (int64_t r = 0; r < sequences; ++r) {
    const std::vector<uint8_t> mask(length - config.block_size + 1, 1);
    const std::vector<int64_t> drawn = draw_anchors(mask, anchors, 1, r, 0);
    for (int64_t anchor : drawn) {
      batch.block_sequence.push_back(r);
      batch.block_anchor.push_back(anchor);
      for (int64_t k = 0; k < config.block_size; ++k) {
        batch.target_rows.push_back(k == 0 ? -1 : targets + anchor + k - 1 - drawn.front());
        batch.token_ids.push_back(k == 0 ? random.below(config.vocab_size) : config.mask_token_id);
        batch.labels.push_back(k == 0 ? -1 : random.below(config.draft_vocab_size));
        batch.weights.push_back(k == 0 ? 0 : 1);
      }
    }
    batch.sequence_begin.push_back(batch.sequence_begin.back() + drawn.back());
    targets += drawn.back() + config.block_size - 1 - drawn.front();
  }
  at::manual_seed(1);
  batch.context =
      at::randn({batch.sequence_begin.back(), config.num_taps * config.hidden_size}, at::kFloat);
  batch.target_hidden = at::randn({targets, config.hidden_size}, at::kFloat);
  return batch;
}

// A drafter for SmolLM2-135M: hidden 576, vocabulary 49152.
inline DrafterConfig smollm2_drafter(int64_t layers, int64_t taps, int64_t block_size) {
  DrafterConfig config;
  config.hidden_size = 576;
  config.intermediate_size = 1536;
  config.layer_options["num_attention_heads"] = 9;
  config.layer_options["num_key_value_heads"] = 3;
  config.layer_options["head_dim"] = 64;
  config.layer_types.assign(layers, "full_attention");
  config.block_size = block_size;
  config.vocab_size = config.draft_vocab_size = 49152;
  config.num_taps = taps;
  return config;
}

}  // namespace draftlab
