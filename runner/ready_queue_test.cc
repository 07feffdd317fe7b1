#include "runner/ready_queue.h"

#include <gmock/gmock.h>

#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Line {
  std::string id, parent;
  int64_t steps;
};

std::vector<PlannedSegment> segments(const std::vector<Line>& lines) {
  std::vector<PlannedSegment> result;
  for (const Line& line : lines) {
    PlannedSegment segment;
    segment.id = line.id;
    segment.config.parent = line.parent;
    segment.config.to_step = line.steps;
    result.push_back(segment);
  }
  return result;
}

std::string take(ReadyQueue& queue, const std::vector<PlannedSegment>& segments) {
  const auto next = queue.next();
  return next ? segments[*next].id : "-";
}

TEST(ReadyQueue, TheLongestRemainingPathComesFirstThenThePlansOrder) {
  // a's own steps are few, but b below it makes its path the longest.
  const auto plan = segments({{"c", "", 50}, {"a", "", 10}, {"b", "a", 60}, {"d", "", 50}});
  ReadyQueue queue(plan, {});
  EXPECT_EQ(take(queue, plan), "a");
  EXPECT_EQ(take(queue, plan), "c");
  EXPECT_EQ(take(queue, plan), "d");
  EXPECT_EQ(take(queue, plan), "-");
  queue.ended(1, OutcomeKind::kDone);
  EXPECT_EQ(take(queue, plan), "b");
}

TEST(ReadyQueue, AFailedSegmentBlocksAllBelowItAndNamesItself) {
  for (OutcomeKind kind :
       {OutcomeKind::kFailed, OutcomeKind::kDiverged, OutcomeKind::kInterrupted}) {
    const auto plan = segments({{"a", "", 10}, {"b", "a", 20}, {"c", "b", 30}, {"d", "", 5}});
    ReadyQueue queue(plan, {});
    EXPECT_EQ(take(queue, plan), "a");
    queue.ended(0, kind);
    EXPECT_EQ(take(queue, plan), "d");
    EXPECT_EQ(take(queue, plan), "-");
    EXPECT_THAT(queue.blocked(), ElementsAre(Pair(1, "a"), Pair(2, "a")));
  }
}

TEST(ReadyQueue, FinishedSegmentsNeverRunAgain) {
  const auto plan = segments({{"a", "", 10}, {"b", "a", 20}, {"c", "b", 30}, {"d", "", 5}});
  ReadyQueue queue(
      plan, {{"a", OutcomeKind::kDone}, {"b", OutcomeKind::kDone}, {"d", OutcomeKind::kDiverged}});
  EXPECT_EQ(take(queue, plan), "c");
  EXPECT_EQ(take(queue, plan), "-");
  EXPECT_THAT(queue.blocked(), IsEmpty());
}

TEST(ReadyQueue, ADivergedSegmentFromBeforeStillBlocks) {
  const auto plan = segments({{"a", "", 10}, {"b", "a", 20}});
  ReadyQueue queue(plan, {{"a", OutcomeKind::kDiverged}});
  EXPECT_EQ(take(queue, plan), "-");
  EXPECT_THAT(queue.blocked(), ElementsAre(Pair(1, "a")));
}

TEST(ReadyQueue, AParentBehindItsChildIsRefused) {
  const auto plan = segments({{"b", "a", 20}, {"a", "", 10}});
  EXPECT_THROW(ReadyQueue(plan, {}), Error);
}

}  // namespace
}  // namespace draftlab
