// Training on every loss, from a store that keeps final hidden states.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <string>

#include "base/error.h"
#include "testing/example_segments.h"
#include "train/trainer.h"

namespace draftlab {
namespace {

class Losses : public ExampleSegments {
 protected:
  static void SetUpTestSuite() {
    ExampleSegments::SetUpTestSuite();
    without_ = manifest_;
    StoreSpecification keeping = specification();
    keeping.final_hidden = true;
    std::filesystem::rename(root_ / "store", root_ / "without");
    manifest_ = capture_store(keeping, root_ / "store");
  }

  SegmentConfig with(const Json& loss) {
    SegmentConfig segment = config(R"({"kind": "adamw", "learning_rate": 1e-2})");
    segment.training.loss = parse_loss(loss, "test");
    return segment;
  }

  static inline StoreManifest without_;  // the same store without final hidden states
};

TEST_F(Losses, EveryOneTrainsOnTheSameDataAndIsMeasuredAlike) {
  std::map<std::string, std::string> weights;  // at the end, and the loss that led there
  const Metrics usual = [&] {
    train(with("ce"), "ce");
    return metrics("ce");
  }();
  for (const LossKind& kind : loss_kinds()) {
    SCOPED_TRACE(kind.name);
    const Outcome outcome = train(with(Json(kind.name)), kind.name);
    ASSERT_EQ(outcome.kind, OutcomeKind::kDone) << outcome.reason;
    EXPECT_TRUE(weights.emplace(outcome.weights_hash, kind.name).second);
    const Metrics rows = metrics(kind.name);
    ASSERT_EQ(rows.evaluations.size(), usual.evaluations.size());
    for (size_t i = 0; i < rows.evaluations.size(); ++i) {
      const EvaluationRow& row = rows.evaluations[i];
      EXPECT_EQ(row.tokens, usual.evaluations[i].tokens);
      EXPECT_EQ(row.data_hash, usual.evaluations[i].data_hash);
      ASSERT_EQ(row.expected_acceptance.size(), 3u);
      for (const double slot : row.expected_acceptance) {
        EXPECT_GT(slot, 0);
        EXPECT_LT(slot, 1);
      }
      EXPECT_GT(row.expected_acceptance_length, 1);
      EXPECT_LT(row.expected_acceptance_length, 4);
      if (row.step > 0) continue;
      EXPECT_EQ(row.loss, usual.evaluations[i].loss);
      EXPECT_EQ(row.expected_acceptance, usual.evaluations[i].expected_acceptance);
      EXPECT_EQ(row.expected_acceptance_length, usual.evaluations[i].expected_acceptance_length);
    }
  }
}

TEST_F(Losses, LossesOfAcceptanceRaiseTheExpectedAcceptance) {
  for (const char* loss : {"kl", "tv"}) {
    train(with(loss), std::string("raises ") + loss);
    const Metrics rows = metrics(std::string("raises ") + loss);
    EXPECT_GT(rows.evaluations.back().expected_acceptance_length,
              rows.evaluations.front().expected_acceptance_length)
        << loss;
  }
}

TEST_F(Losses, AStoppedRunEndsAsOneThatWasNot) {
  const SegmentConfig segment = with(JsonObject{{"kl", 0.5}, {"ce", 0.5}});
  const Outcome whole = train(segment, "whole");
  Outcome outcome = train(segment, "stopped", true);
  for (int life = 0; outcome.kind != OutcomeKind::kDone; ++life) {
    ASSERT_LT(life, 20);
    outcome = train(segment, "stopped", true);
  }
  EXPECT_EQ(outcome.weights_hash, whole.weights_hash);
  const Metrics a = metrics("whole"), b = metrics("stopped");
  ASSERT_EQ(a.evaluations.size(), b.evaluations.size());
  for (size_t i = 0; i < a.evaluations.size(); ++i) {
    EXPECT_EQ(a.evaluations[i].expected_acceptance, b.evaluations[i].expected_acceptance);
    EXPECT_EQ(a.evaluations[i].expected_acceptance_length,
              b.evaluations[i].expected_acceptance_length);
  }
}

// What the target predicts for a slot is what it chose there, up to the rounding of the store.
TEST_F(Losses, TargetDistributionsStandBesideTheirSlots) {
  SegmentConfig segment = with("kl");
  segment.drafter.draft_vocab_size = segment.drafter.vocab_size;
  segment.training.labels = "argmax";
  TrainingData data(segment, root_ / "store");
  int64_t slots = 0, same = 0;
  for (int64_t step = 0; step < 5; ++step) {
    const BlockBatch batch = data.training_batch(step);
    const at::Tensor chosen = batch.target_hidden.matmul(data.frozen().head.t()).argmax(1);
    for (size_t row = 0; row < batch.labels.size(); ++row) {
      EXPECT_EQ(batch.target_rows[row] >= 0, batch.weights[row] > 0);
      if (batch.target_rows[row] < 0) continue;
      ++slots;
      same += chosen[batch.target_rows[row]].item<int64_t>() == batch.labels[row];
    }
  }
  EXPECT_GT(slots, 100);
  EXPECT_GT(static_cast<double>(same), 0.95 * static_cast<double>(slots));
}

TEST_F(Losses, KeepingFinalHiddenStatesChangesNoBitOfATrainingThatDoesNotReadThem) {
  SegmentConfig segment = with("ce");
  const Outcome with_states = train(segment, "kept");
  segment.store = without_.hash();
  const SegmentTask task{segment_id(segment), segment, root_ / "without", 5};
  const std::filesystem::path folder = root_ / "segments/not_kept";
  make_folder(folder);
  write_task(SegmentFolder(folder).task(), task);
  const std::atomic<bool> go_on{false};
  EXPECT_EQ(train_segment(task, SegmentFolder(folder).root(), go_on).weights_hash,
            with_states.weights_hash);
  for (const EvaluationRow& row : metrics("not_kept").evaluations) {
    EXPECT_TRUE(row.expected_acceptance.empty());
    EXPECT_TRUE(std::isnan(row.expected_acceptance_length));
  }
}

TEST_F(Losses, AStoreWithoutFinalHiddenStatesIsRefusedWithAdvice) {
  SegmentConfig segment = with("kl");
  segment.store = without_.hash();
  EXPECT_THAT([&] { TrainingData(segment, root_ / "without"); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr(
                  "keeps no final hidden states, which the loss 'kl' needs; build it with")));
}

}  // namespace
}  // namespace draftlab
