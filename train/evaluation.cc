#include "train/evaluation.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "model/acceptance.h"
#include "model/draft_tree.h"
#include "model/top_recall.h"

namespace draftlab {
namespace {

// Records of one forward pass: enough rows to keep the matrix products busy, few enough to stay
// small.
constexpr size_t kSequencesPerBatch = 8;
// How far down a slot's label is looked for.
constexpr int64_t kTop = 8;

}  // namespace

EvaluationRow evaluate_drafter(Drafter& drafter, const NamedTensors& weights, TrainingData& data,
                               std::span<const int64_t> records) {
  const int64_t block_size = drafter.config().block_size;
  AcceptanceCounter against_data(block_size), against_argmax(block_size);
  ExpectedAcceptanceCounter expected(block_size);
  TopRecallCounter recall(block_size, kTop);
  TreeLengthCounter trees(block_size, kTop, tree_budgets());
  const bool sampled = data.keeps_target_distributions();
  at::Tensor whole_head;  // of the target
  double numerator = 0, denominator = 0;
  for (size_t begin = 0; begin < records.size(); begin += kSequencesPerBatch) {
    const auto part = records.subspan(begin, std::min(kSequencesPerBatch, records.size() - begin));
    const auto sequences = data.evaluation_sequences(part);
    const BlockBatch batch = data.make_batch(sequences, sampled);
    TopTokens top{.k = kTop};
    const LossResult loss = drafter.loss_and_top(weights, batch, top);
    if (sampled) {
      if (!whole_head.defined()) whole_head = data.frozen().head.to(batch.context.device());
      expected.add(drafter.expected_acceptance(batch, whole_head));
    }
    numerator += loss.numerator;
    denominator += loss.denominator;
    const std::vector<int64_t> ids = top.argmax();
    std::vector<int64_t> prompts;
    for (int64_t sequence : batch.block_sequence) prompts.push_back(part[sequence]);
    const auto labels = [&](LabelSource source) {
      return block_labels(sequences, block_size, source, data.vocabulary());
    };
    against_data.add(ids, labels(LabelSource::kData), prompts);
    against_argmax.add(ids, labels(LabelSource::kArgmax), prompts);
    recall.add(top.ids, labels(LabelSource::kData));
    trees.add(top.ids, top.log_probabilities, labels(LabelSource::kData));
  }
  const Acceptance acceptance = against_data.result();
  EvaluationRow row;
  row.loss = numerator / denominator;
  row.blocks = acceptance.blocks;
  row.prompts = acceptance.prompts;
  row.slot_accuracy = acceptance.slot_accuracy;
  row.prefix_share = acceptance.prefix_share;
  row.acceptance_length = acceptance.acceptance_length;
  row.acceptance_length_argmax = against_argmax.result().acceptance_length;
  row.acceptance_length_per_prompt = acceptance.acceptance_length_per_prompt;
  if (sampled) {
    row.expected_acceptance = expected.result().slots;
    row.expected_acceptance_length = expected.result().length;
  }
  row.top_2_recall = recall.share(2);
  row.top_4_recall = recall.share(4);
  row.top_8_recall = recall.share(8);
  row.top_8_length = recall.length();
  row.tree_lengths = trees.lengths();
  row.prompt_blocks = acceptance.prompt_blocks;
  row.prompt_matches = acceptance.prompt_matches;
  return row;
}

}  // namespace draftlab
