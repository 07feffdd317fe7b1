#include "decode/drafter_proposer.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "decode/verification.h"
#include "kernels/frozen_head_loss.h"
#include "model/draft_tree.h"
#include "target_model/decoder_loops.h"

namespace draftlab {
namespace {

constexpr int64_t kTop = 8;  // tokens of each slot that a tree is made of

}  // namespace

DrafterProposer::DrafterProposer(const DrafterConfig& config, NamedTensors weights,
                                 const FrozenTensors& target, const DraftVocabulary& vocabulary,
                                 int64_t tree)
    : config_(config),
      weights_(std::move(weights)),
      vocabulary_(vocabulary),
      head_(vocabulary.head_rows(target.head)),
      drafter_(config, target.embedding, head_),
      tree_(tree) {}

void DrafterProposer::start(int64_t sequences) { contexts_.assign(sequences, {}); }

void DrafterProposer::observe(int64_t sequence, std::span<const int32_t> tokens,
                              const at::Tensor& taps) {
  Context& context = contexts_[sequence];
  const int64_t length = context.length + std::ssize(tokens);
  if (!context.rows.defined() || context.rows.size(0) < length) {
    const at::Tensor larger = at::empty({2 * length, config_.hidden_size}, taps.options());
    if (context.length > 0)
      larger.narrow(0, 0, context.length).copy_(context.rows.narrow(0, 0, context.length));
    context.rows = larger;
  }
  context.rows.narrow(0, context.length, std::ssize(tokens))
      .copy_(drafter_.context_rows(weights_, taps));
  context.length = length;
}

// hidden [B-1, H] of slots 1 .. B-1.
Draft DrafterProposer::propose_tree(const at::Tensor& hidden) const {
  const auto rows = static_cast<size_t>(longest());
  const std::vector<int64_t> no_labels(rows, -1);
  std::vector<double> losses(rows), log_probabilities(rows * kTop);
  std::vector<int64_t> ids(rows * kTop);
  frozen_head_top(hidden, head_, no_labels, losses, {kTop, ids, log_probabilities});
  Draft draft;
  for (const DraftTree::Node& node : best_tree(ids, log_probabilities, kTop, tree_).nodes) {
    draft.tokens.push_back(static_cast<int32_t>(vocabulary_.target_id(node.token)));
    draft.parents.push_back(node.parent);
  }
  return draft;
}

Draft DrafterProposer::propose(int64_t sequence, int32_t anchor, double temperature,
                               Random& random) {
  const Context& context = contexts_[sequence];
  BlockBatch batch;
  batch.context = context.rows.narrow(0, 0, context.length);
  batch.sequence_begin = {0, context.length};
  batch.block_sequence = {0};
  batch.block_anchor = {context.length};
  batch.token_ids.assign(config_.block_size, config_.mask_token_id);
  batch.token_ids[0] = anchor;
  batch.block_size = config_.block_size;
  const at::Tensor hidden = drafter_.forward_behind(weights_, batch);
  if (tree_ > 0 && temperature == 0) return propose_tree(hidden.narrow(0, 1, longest()));
  const at::Tensor logits = at::mm(hidden.narrow(0, 1, longest()), head_.t());  // [B-1, V_d]

  Draft draft;
  const int64_t size = vocabulary_.size();
  if (temperature > 0)
    draft.probabilities = at::zeros({longest(), vocabulary_.vocab_size()}, at::kFloat);
  std::vector<float> q(size);
  for (int64_t k = 0; k < longest(); ++k) {
    const float* row = logits.const_data_ptr<float>() + k * size;
    if (temperature == 0) {
      draft.tokens.push_back(static_cast<int32_t>(vocabulary_.target_id(argmax(row, size))));
      continue;
    }
    softmax(row, size, temperature, q.data());
    float* of_target = draft.probabilities.mutable_data_ptr<float>() + k * vocabulary_.vocab_size();
    for (int64_t d = 0; d < size; ++d) of_target[vocabulary_.target_id(d)] = q[d];
    draft.tokens.push_back(static_cast<int32_t>(vocabulary_.target_id(draw(q, random.uniform()))));
  }
  return draft;
}

}  // namespace draftlab
