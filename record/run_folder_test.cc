#include "record/run_folder.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "record/events.h"
#include "record/outcome.h"
#include "record/progress.h"
#include "record/transfer.h"
#include "testing/every_field.h"

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

TEST_F(Folder, OnlyTheOwnVersionOfAFileIsRead) {
  EXPECT_NO_THROW(require_schema(2, 2, "x"));
  for (const int64_t other : {1, 3}) EXPECT_THROW(require_schema(other, 2, "x"), Error);
}

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

TEST_F(Folder, EveryFieldOfAnOutcomeReadsBackWhateverItsKind) {
  const fs::path file = root_ / "outcome.json";
  EXPECT_FALSE(read_outcome(file).has_value());
  for (const OutcomeKind kind : {OutcomeKind::kDone, OutcomeKind::kDiverged, OutcomeKind::kFailed,
                                 OutcomeKind::kInterrupted}) {
    Outcome written = numbered(Outcome());
    written.kind = kind;
    write_outcome(file, written);
    EXPECT_EQ(read_outcome(file)->kind, kind);
    EXPECT_EQ(field_texts(*read_outcome(file)), field_texts(written));
  }
}

TEST_F(Folder, EveryFieldOfATransferReadsBack) {
  std::vector<TransferRow> rows(4);
  rows = numbered(rows);
  const char* const fates[] = {"carried", "converted", "reset", "dropped"};
  for (size_t i = 0; i < rows.size(); ++i) rows[i].fate = fates[i];
  write_transfer(root_ / "transfer.json", rows);
  EXPECT_EQ(field_texts(read_transfer(root_ / "transfer.json")), field_texts(rows));
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
  // Its runner died: this life has no end, and the next one's is not its.
  log.start({.segment = "b", .start = 6});
  log.end({.segment = "b", .end = 7, .outcome = "done"});
  log.end({.segment = "a", .end = 8, .outcome = "nobody's"});
  const std::vector<WorkerEvent> wanted = {{"a", 1, 3, "interrupted", 2},
                                           {"b", 2, 0, "", 1},
                                           {"a", 4, 5, "done", 1},
                                           {"b", 6, 7, "done", 1}};
  EXPECT_EQ(field_texts(read_events(file)), field_texts(wanted));
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
  const Progress progress = numbered(Progress());
  write_progress(root_ / "progress.json", progress);
  EXPECT_EQ(field_texts(*read_progress(root_ / "progress.json")), field_texts(progress));
  replace_file(root_ / "progress.json", "{");
  EXPECT_FALSE(read_progress(root_ / "progress.json").has_value());
}

}  // namespace
}  // namespace draftlab
