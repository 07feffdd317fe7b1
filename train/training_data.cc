#include "train/training_data.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "model/acceptance.h"
#include "model/anchors.h"
#include "model/bigram.h"
#include "model/look_up.h"
#include "train/near_copies.h"
#include "train/planned_split.h"
#include "train/prompt_words.h"
#include "train/sample_order.h"

namespace draftlab {
namespace {

void check(const StoreReader& store, const SegmentConfig& config) {
  const StoreManifest& manifest = store.manifest();
  const std::string where = store.folder().string();
  if (manifest.hash() != config.store) {
    throw Error(where, "is another store than the planned one (hash " +
                           manifest.hash().substr(0, 12) + ", planned " +
                           config.store.substr(0, 12) +
                           "); give the planned store, or start a new folder for this one");
  }
  const auto agree = [&](const char* what, int64_t in_store, int64_t in_drafter) {
    if (in_store == in_drafter) return;
    throw Error(where, std::string(what) + " is " + std::to_string(in_store) +
                           ", the drafter expects " + std::to_string(in_drafter));
  };
  agree("hidden_size", manifest.hidden_size, config.drafter.hidden_size);
  agree("vocab_size", manifest.vocab_size, config.drafter.vocab_size);
  agree("the number of taps", static_cast<int64_t>(manifest.taps.size()), config.drafter.num_taps);
  agree("mask_token_id", manifest.mask_token_id, config.drafter.mask_token_id);
  if (config.training.loss.needs_target() && manifest.final_hidden.empty()) {
    throw Error(where, "keeps no final hidden states, which the loss '" +
                           loss_text(config.training.loss) +
                           "' needs; build it with \"final_hidden\": true");
  }
}

FrozenTensors frozen_of(const StoreReader& store, const SegmentConfig& config) {
  check(store, config);
  return load_frozen(store.manifest());
}

// Drops the records in which no block fits.
void keep_usable(StoreReader& store, std::vector<int64_t>& records, const char* use,
                 auto has_anchors) {
  std::erase_if(records, [&](int64_t index) { return !has_anchors(store.record(index)); });
  if (records.empty()) {
    throw Error(store.folder().string(),
                std::string("no ") + use +
                    " sequence has room for a block; use longer responses or a "
                    "smaller block_size");
  }
}

std::string tokens_hash(const StoreRecord& record) {
  return sha256_hex(
      {reinterpret_cast<const char*>(record.token_ids.data()), record.token_ids.size_bytes()});
}

SplitRecords usable_split(StoreReader& store, const SegmentConfig& config) {
  SplitRecords split = planned_split(store, config.split);
  const auto trains = [](const StoreRecord& record) {
    return !eligible_anchors(record.loss_mask).empty();
  };
  const auto evaluates = [&](const StoreRecord& record) {
    return !evaluation_anchors(record.loss_mask, config.drafter.block_size,
                               config.evaluation.stride)
                .empty();
  };
  keep_usable(store, split.train, "training", trains);
  keep_usable(store, split.held_out, "held-out", evaluates);
  if (!split.tuning.empty()) keep_usable(store, split.tuning, "tuning", evaluates);
  return split;
}

}  // namespace

TrainingData::TrainingData(const SegmentConfig& config, const std::filesystem::path& store_folder)
    : config_(config),
      store_(store_folder),
      frozen_(frozen_of(store_, config)),
      split_(usable_split(store_, config)),
      vocabulary_(config.drafter.draft_vocab_size == config.drafter.vocab_size
                      ? DraftVocabulary::whole(config.drafter.vocab_size)
                      : DraftVocabulary::most_frequent(records(split_.train),
                                                       config.drafter.vocab_size,
                                                       config.drafter.draft_vocab_size)) {}

std::vector<StoreRecord> TrainingData::records(std::span<const int64_t> indices) {
  std::vector<StoreRecord> records;
  for (int64_t index : indices) records.push_back(store_.record(index));
  return records;
}

BlockBatch TrainingData::training_batch(int64_t step) {
  std::vector<AnchoredSequence> sequences;
  const auto visits = visits_of_step(static_cast<int64_t>(split_.train.size()),
                                     config_.training.sequences_per_step, config_.seeds.data, step);
  for (const Visit& visit : visits) {
    const int64_t index = split_.train[visit.place];
    const StoreRecord record = store_.record(index);
    sequences.push_back({record, draw_anchors(record.loss_mask, config_.training.anchors,
                                              config_.seeds.noise, index, visit.epoch)});
  }
  return make_batch(sequences, config_.training.loss.needs_target());
}

std::vector<AnchoredSequence> TrainingData::evaluation_sequences(std::span<const int64_t> indices) {
  std::vector<AnchoredSequence> sequences;
  for (const StoreRecord& record : records(indices)) {
    sequences.push_back({record, evaluation_anchors(record.loss_mask, config_.drafter.block_size,
                                                    config_.evaluation.stride)});
  }
  return sequences;
}

BlockBatch TrainingData::make_batch(std::span<const AnchoredSequence> sequences,
                                    bool target_distributions) const {
  const BlockOptions options{.block_size = config_.drafter.block_size,
                             .mask_token_id = config_.drafter.mask_token_id,
                             .gamma = config_.training.gamma,
                             .labels = parse_label_source(config_.training.labels),
                             .target_distributions = target_distributions};
  BlockBatch batch = make_block_batch(sequences, options, vocabulary_);
  const at::Device device(config_.training.device);
  batch.context = batch.context.to(device);
  if (target_distributions) batch.target_hidden = batch.target_hidden.to(device);
  return batch;
}

Baselines TrainingData::baselines() {
  const std::vector<StoreRecord> training = records(split_.train);
  const BigramChain chain(training, config_.drafter.vocab_size);
  const auto sequences = evaluation_sequences(split_.held_out);
  const int64_t block_size = config_.drafter.block_size;
  const std::vector<int64_t> bigram = chain.draft(sequences, block_size);
  const std::vector<int64_t> looked_up = look_up_drafts(sequences, block_size);
  std::vector<int64_t> prompts;
  for (size_t i = 0; i < sequences.size(); ++i)
    prompts.insert(prompts.end(), sequences[i].anchors.size(), i);
  const auto acceptance = [&](const std::vector<int64_t>& drafts, LabelSource source) {
    AcceptanceCounter counter(block_size);
    const auto whole = DraftVocabulary::whole(config_.drafter.vocab_size);
    counter.add(drafts, block_labels(sequences, block_size, source, whole), prompts);
    return counter.result();
  };
  const Acceptance data = acceptance(bigram, LabelSource::kData);
  std::set<std::string> seen;
  for (const StoreRecord& record : training) seen.insert(tokens_hash(record));
  const auto duplicates =
      std::count_if(sequences.begin(), sequences.end(), [&](const AnchoredSequence& sequence) {
        return seen.contains(tokens_hash(sequence.record));
      });
  std::vector<StoreRecord> prompted = training;
  for (const AnchoredSequence& sequence : sequences)
    if (!sequence.anchors.empty()) prompted.push_back(sequence.record);
  std::vector<WordSet> words = prompt_words(store_.manifest(), prompted);
  const auto evaluated = words.begin() + static_cast<ptrdiff_t>(training.size());
  const std::vector<WordSet> held_out(evaluated, words.end());
  words.erase(evaluated, words.end());
  return {
      .bigram_acceptance_length = data.acceptance_length,
      .bigram_acceptance_length_argmax = acceptance(bigram, LabelSource::kArgmax).acceptance_length,
      .look_up_acceptance_length = acceptance(looked_up, LabelSource::kData).acceptance_length,
      .look_up_acceptance_length_argmax =
          acceptance(looked_up, LabelSource::kArgmax).acceptance_length,
      .blocks = data.blocks,
      .prompts = data.prompts,
      .initial_weights_hash = {},
      .duplicates = duplicates,
      .near_copies = near_copies(words, held_out)};
}

}  // namespace draftlab
