#include "record/run_folder.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "record/events.h"
#include "record/outcome.h"
#include "record/progress.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("draftlab_run_folder_test_" + std::to_string(::getpid()));
    make_folder(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  fs::path root_;
};

TEST_F(Folder, TheLastCheckpointIsTheOneOfTheLargestStepAndHalfWrittenOnesDoNotCount) {
  const SegmentFolder folder(RunFolder(root_), "abc");
  EXPECT_FALSE(folder.last_checkpoint().has_value());
  make_folder(folder.checkpoints());
  EXPECT_FALSE(folder.last_checkpoint().has_value());
  for (int64_t step : {5, 100, 20}) replace_file(folder.checkpoint(step), "");
  replace_file(folder.checkpoint(200).string() + ".tmp", "");
  EXPECT_EQ(folder.last_checkpoint(), 100);
  EXPECT_EQ(SegmentFolder::checkpoint_step(folder.checkpoint(123456789)), 123456789);
  EXPECT_FALSE(SegmentFolder::checkpoint_step("step_00000000x.safetensors").has_value());
}

TEST_F(Folder, AnOutcomeReadsBack) {
  EXPECT_FALSE(read_outcome(root_ / "outcome.json").has_value());
  const Outcome written{
      OutcomeKind::kDiverged, 7, "the loss is NaN", "", 1.5, 0.25, 1, 0.25, 1 << 20, "a", "", {}};
  write_outcome(root_ / "outcome.json", written);
  const Outcome read = read_outcome(root_ / "outcome.json").value();
  EXPECT_EQ(read.kind, OutcomeKind::kDiverged);
  EXPECT_EQ(read.step, 7);
  EXPECT_EQ(read.reason, written.reason);
  EXPECT_EQ(read.optimizer_seconds, 0.25);
  EXPECT_EQ(read.peak_memory_bytes, 1 << 20);
}

TEST_F(Folder, EventsPairStartsWithEnds) {
  const fs::path file = root_ / "events.jsonl";
  EXPECT_TRUE(read_events(file).empty());
  EventLog log(file);
  log.start({.segment = "a", .start = 1, .threads = 2});
  log.start({.segment = "b", .start = 2});
  log.end({.segment = "a", .end = 3, .outcome = "interrupted"});
  log.start({.segment = "a", .start = 4});
  log.end({.segment = "a", .end = 5, .outcome = "done"});
  const auto events = read_events(file);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].end, 3);
  EXPECT_EQ(events[0].outcome, "interrupted");
  EXPECT_EQ(events[0].threads, 2);
  EXPECT_EQ(events[1].end, 0);
  EXPECT_EQ(events[2].outcome, "done");
}

TEST_F(Folder, ATornEventIsCutSoThatTheNextOneIsReadAndNothingBeforeItIsLost) {
  const fs::path file = root_ / "events.jsonl";
  EventLog(file).start({.segment = "a", .start = 1});
  const std::string whole = read_file(file);
  for (size_t size = 0; size < whole.size(); ++size) {
    replace_file(file, whole + whole.substr(0, size));
    EventLog(file).end({.segment = "a", .end = 2, .outcome = "done"});
    const auto events = read_events(file);
    ASSERT_EQ(events.size(), 1u) << size;
    EXPECT_EQ(events[0].outcome, "done") << size;
  }
}

TEST_F(Folder, AnOutcomeWithAFlippedBitOrOfAnotherSegmentIsRefused) {
  const fs::path file = root_ / "outcome.json";
  write_outcome(file, {.kind = OutcomeKind::kDone, .step = 7, .segment = "a", .notices = {"one"}});
  EXPECT_EQ(read_outcome(file, "a")->notices, std::vector<std::string>{"one"});
  EXPECT_THAT([&] { read_outcome(file, "b"); },
              ThrowsMessage<Error>(HasSubstr("is the outcome of segment a, not of b")));
  const std::string whole = read_file(file);
  for (size_t i = 0; i < whole.size(); ++i) {
    if (std::isspace(whole[i])) continue;
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    replace_file(file, flipped);
    EXPECT_THROW(read_outcome(file, "a"), Error) << i << ": " << flipped[i];
  }
}

TEST_F(Folder, ProgressThatCannotBeReadIsNoProgress) {
  EXPECT_FALSE(read_progress(root_ / "progress.json").has_value());
  write_progress(root_ / "progress.json", {3, 10, 0.5});
  EXPECT_EQ(read_progress(root_ / "progress.json")->step, 3);
  replace_file(root_ / "progress.json", "{");
  EXPECT_FALSE(read_progress(root_ / "progress.json").has_value());
}

}  // namespace
}  // namespace draftlab
