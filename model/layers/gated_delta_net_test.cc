#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

#include "model/drafter.h"
#include "testing/closeness.h"
#include "testing/reference_drafter.h"

namespace draftlab {
namespace {

// Two recurrent layers, blocks of 4.
DrafterConfig config() {
  DrafterConfig config = recurrent_config();
  config.layer_types = {"gated_delta_net", "gated_delta_net"};
  config.block_size = 4;
  return config;
}

Problem packed() { return {"", config(), {12, 80}, {{2, 5, 12}, {0, 3, 64, 66, 80}}}; }

at::Tensor hidden(const Problem& problem, const BlockBatch& batch) {
  Drafter drafter(problem.config, problem.embedding, problem.head);
  return drafter.forward(problem.parameters, batch);
}

TEST(GatedDeltaNet, ALaterSlotChangesNoBitOfAnEarlierOneAndDoesChangeItself) {
  const Problem problem = packed().to(at::kFloat);
  const int64_t B = problem.config.block_size;
  const at::Tensor before = hidden(problem, problem.batch);
  for (int64_t block = 0; block < problem.batch.blocks(); ++block) {
    for (int64_t slot = 0; slot < B; ++slot) {
      BlockBatch other = problem.batch;
      int64_t& id = other.token_ids[block * B + slot];
      id = (id + 1) % problem.config.vocab_size;
      const at::Tensor after = hidden(problem, other);
      const int64_t row = block * B + slot, end = (block + 1) * B;
      EXPECT_TRUE(before.slice(0, 0, row).equal(after.slice(0, 0, row)));
      EXPECT_TRUE(before.slice(0, end).equal(after.slice(0, end))) << "another block";
      for (int64_t later = row; later < end; ++later)
        EXPECT_FALSE(before[later].equal(after[later])) << "block " << block << " row " << later;
    }
  }
}

// The state carries it over the border of a chunk.
TEST(GatedDeltaNet, TheFirstContextRowReachesABlockFarBehindIt) {
  const Problem problem = packed();
  BlockBatch other = problem.batch;
  other.context = problem.batch.context.clone();
  other.context[12].add_(5);  // the first row of the second sequence
  const at::Tensor before = hidden(problem, problem.batch), after = hidden(problem, other);
  const int64_t B = problem.config.block_size;
  EXPECT_TRUE(before.slice(0, 0, 4 * B).equal(after.slice(0, 0, 4 * B)));  // anchor 0 the last
  for (int64_t row = 4 * B; row < before.size(0); ++row)
    EXPECT_FALSE(before[row].equal(after[row])) << row;
}

TEST(GatedDeltaNet, SequencesThatAreLaidEndToEndGiveWhatEachGivesAlone) {
  const Problem problem = packed();
  const at::Tensor together = hidden(problem, problem.batch);
  const BlockBatch& all = problem.batch;
  const int64_t B = all.block_size;
  std::vector<at::Tensor> alone;
  for (int64_t r = 0; r < 2; ++r) {
    const int64_t begin = all.sequence_begin[r], end = all.sequence_begin[r + 1];
    BlockBatch one;
    one.block_size = B;
    one.sequence_begin = {0, end - begin};
    one.context = all.context.slice(0, begin, end);
    for (int64_t n = 0; n < all.blocks(); ++n) {
      if (all.block_sequence[n] != r) continue;
      one.block_sequence.push_back(0);
      one.block_anchor.push_back(all.block_anchor[n]);
      one.token_ids.insert(one.token_ids.end(), all.token_ids.begin() + n * B,
                           all.token_ids.begin() + (n + 1) * B);
    }
    alone.push_back(hidden(problem, one));
  }
  expect_close(together, at::cat(alone));
}

TEST(GatedDeltaNet, HasNoScoresAndItsNeighboursKeepTheirs) {
  Problem problem = packed();
  problem.config.layer_types = {"gated_delta_net", "full_attention"};
  problem = Problem("", problem.config, {12}, {{2, 5, 12}});
  Drafter drafter(problem.config, problem.embedding, problem.head);
  drafter.forward(problem.parameters, problem.batch);
  const std::vector<at::Tensor> scores = drafter.largest_scores();
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_FALSE(scores[0].defined());
  const int64_t heads = problem.config.layer_option("num_attention_heads");
  ASSERT_EQ(scores[1].numel(), heads);
  // Each head has its own: one without queries scores 0.
  const std::string queries = "layers.1.self_attn.q_proj.weight";
  problem.parameters.at(queries).narrow(0, 0, problem.config.layer_option("head_dim")).zero_();
  drafter.forward(problem.parameters, problem.batch);
  const at::Tensor without = drafter.largest_scores()[1];
  EXPECT_EQ(without[0].item<double>(), 0);
  for (int64_t head = 1; head < heads; ++head)
    EXPECT_EQ(without[head].item<double>(), scores[1][head].item<double>());
}

TEST(GatedDeltaNet, GradientDescentFromTheInitialValuesLearnsABatchByHeart) {
  DrafterConfig wide = config();
  wide.initializer_range = 0.2;
  const Problem problem = Problem("", wide, {20}, {{2, 5, 12, 17}}).to(at::kFloat);
  Drafter drafter(wide, problem.embedding, problem.head);
  NamedTensors weights = initial_parameters(wide, 1), gradients;
  const double first = drafter.loss_and_gradients(weights, problem.batch, gradients).loss;
  double last = first;
  for (int step = 0; step < 150; ++step) {
    last = drafter.loss_and_gradients(weights, problem.batch, gradients).loss;
    for (auto& [name, weight] : weights) weight.sub_(gradients.at(name), 0.1);
  }
  EXPECT_LT(last, 0.5 * first);
}

}  // namespace
}  // namespace draftlab
