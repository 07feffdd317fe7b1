// What happened to the checkpoints and rows of a segment, and how it goes on.
#include <gmock/gmock.h>

#include <functional>

#include "base/error.h"
#include "record/lives.h"
#include "testing/example_segments.h"
#include "train/checkpoint.h"
#include "train/segment_training.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

class CheckpointDamage : public ExampleSegments {};

// What a kill after step 9 leaves: the checkpoint of step 5, rows up to 9, no outcome.
TEST_F(CheckpointDamage, RowsAfterTheLastCheckpointAreWrittenOnceEvenIfTheWorkerWasKilled) {
  const Outcome whole = train(config(), "unkilled");
  const SegmentFolder folder(root_ / "segments/killed");
  for (int64_t step = 1; step <= 5; ++step) train(config(), "killed", true);
  ASSERT_EQ(folder.last_checkpoint(), 5);
  const std::string checkpoint = read_file(folder.checkpoint(5));
  for (int64_t step = 6; step <= 9; ++step) train(config(), "killed", true);
  ASSERT_EQ(metrics("killed").steps.back().step, 9);
  fs::remove_all(folder.checkpoints());
  make_folder(folder.checkpoints());
  replace_file(folder.checkpoint(5), checkpoint);
  fs::remove(folder.outcome());
  fs::remove(folder.baselines());

  const Outcome again = train(config(), "killed");
  EXPECT_FALSE(fs::exists(folder.baselines())) << "it went on from step 5, not from nothing";
  EXPECT_EQ(again.weights_hash, whole.weights_hash);
  expect_equal_rows(metrics("killed"), metrics("unkilled"));
}

// Two checkpoints are on disk, of steps 2 and 3; then `damage` happens, and a resume has to end as
// an undisturbed run does, and to say what it passed over.
TEST_F(CheckpointDamage, WhateverHappensToTheNewestCheckpointAResumeEndsWithTheSameWeightsAndRows) {
  const SegmentConfig segment = config();
  const Outcome whole = train(segment, "undisturbed");
  for (int i = 0; i < 3; ++i) train(config(R"({"kind": "adamw"})"), "foreign", true);
  const SegmentFolder folder(root_ / "segments/damaged"), foreign(root_ / "segments/foreign");
  const fs::path newest = folder.checkpoint(3);
  const auto flip = [&](double place) {
    std::string bytes = read_file(newest);
    bytes[static_cast<size_t>(place * static_cast<double>(bytes.size() - 1))] ^= 0x40;
    replace_file(newest, bytes);
  };
  const auto rows = [&](auto change) {
    std::string text = read_file(folder.metrics());
    change(text, text.rfind('\n', text.size() - 2) + 1);  // where the last row begins
    replace_file(folder.metrics(), text);
  };
  const std::vector<std::pair<const char*, std::function<void()>>> damages = {
      {"header length", [&] { flip(0); }},
      {"header", [&] { flip(0.005); }},
      {"weights or state", [&] { flip(0.3); }},
      {"weights or state", [&] { flip(0.7); }},
      {"last byte", [&] { flip(1); }},
      {"empty", [&] { replace_file(newest, ""); }},
      {"cut", [&] { replace_file(newest, read_file(newest).substr(0, 20000)); }},
      {"an earlier step's file", [&] { replace_file(newest, read_file(folder.checkpoint(2))); }},
      {"another segment's file", [&] { replace_file(newest, read_file(foreign.checkpoint(3))); }},
      {"row lost", [&] { rows([](std::string& text, size_t last) { text.resize(last); }); }},
      {"row changed", [&] { rows([](std::string& text, size_t last) { text[last + 12] ^= 1; }); }},
  };
  for (const auto& [what, damage] : damages) {
    SCOPED_TRACE(what);
    fs::remove_all(folder.root());
    for (int i = 0; i < 3; ++i) train(segment, "damaged", true);
    EXPECT_EQ(folder.checkpoint_steps(), (std::vector<int64_t>{3, 2}));
    damage();
    const Outcome resumed = train(segment, "damaged");
    EXPECT_EQ(resumed.kind, OutcomeKind::kDone);
    EXPECT_EQ(resumed.weights_hash, whole.weights_hash);
    expect_equal_rows(metrics("damaged"), metrics("undisturbed"));
    ASSERT_EQ(resumed.notices.size(), 1u);
    EXPECT_THAT(resumed.notices[0],
                ::testing::HasSubstr("passed over a checkpoint: " + folder.root().string()));
  }
}

TEST_F(CheckpointDamage, ACheckpointIsReadOnlyAsWhatItIs) {
  const SegmentConfig segment = config();
  train(segment, "own", true);
  const fs::path file = SegmentFolder(root_ / "segments/own").checkpoint(1);
  EXPECT_NO_THROW(read_checkpoint(file, segment_id(segment), 1));
  EXPECT_THROW(read_checkpoint(file, segment_id(segment), 2), Error);
  EXPECT_THROW(read_checkpoint(file, "0123456789abcdef", 1), Error);
}

TEST_F(CheckpointDamage, WithoutAWholeCheckpointItBeginsAgainAndSaysSo) {
  const Outcome whole = train(config(), "from_nothing");
  const SegmentFolder folder(root_ / "segments/all_broken");
  for (int i = 0; i < 2; ++i) train(config(), "all_broken", true);
  for (const int64_t step : folder.checkpoint_steps()) replace_file(folder.checkpoint(step), "");
  const Outcome again = train(config(), "all_broken");
  EXPECT_EQ(again.weights_hash, whole.weights_hash);
  EXPECT_EQ(again.notices.size(), 2u);
  expect_equal_rows(metrics("all_broken"), metrics("from_nothing"));
}

TEST_F(CheckpointDamage, LinesBehindTheRowsOfTheCheckpointAreDroppedWhateverTheyAre) {
  const Outcome whole = train(config(), "clean");
  const SegmentFolder folder(root_ / "segments/trailing");
  train(config(), "trailing", true);
  replace_file(folder.metrics(), read_file(folder.metrics()) + std::string("\0\0\n{\"row", 8));
  EXPECT_EQ(train(config(), "trailing").weights_hash, whole.weights_hash);
  expect_equal_rows(metrics("trailing"), metrics("clean"));
}

TEST_F(CheckpointDamage, AFinishedSegmentsRowsAreKnownByTheirHash) {
  const Outcome outcome = train(config(), "hashed");
  EXPECT_EQ(train(config(), "hashed").weights_hash, outcome.weights_hash);
  EXPECT_EQ(read_lives(SegmentFolder(root_ / "segments/hashed").provenance()).size(), 1u)
      << "nothing is trained again";
  const fs::path file = SegmentFolder(root_ / "segments/hashed").metrics();
  EXPECT_EQ(read_metrics(file, outcome.metrics_sha256).steps.size(), 12u);
  const std::string text = read_file(file);
  replace_file(file, text + text.substr(0, text.find('\n') + 1));
  EXPECT_THAT([&] { read_metrics(file, outcome.metrics_sha256); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("rows were lost, changed")));
}

TEST_F(CheckpointDamage, AChildOfABrokenCheckpointIsRefusedWithAdvice) {
  SegmentConfig first = config();
  first.to_step = 5;
  ASSERT_EQ(train(first).kind, OutcomeKind::kDone);
  SegmentConfig child = config();
  child.parent = segment_id(first);
  child.from_step = 5;
  const fs::path file = SegmentFolder(root_ / "segments" / child.parent).checkpoint(5);
  std::string bytes = read_file(file);
  bytes.back() ^= 1;
  replace_file(file, bytes);
  EXPECT_THAT([&] { train(child, "child_of_broken"); },
              ::testing::ThrowsMessage<Error>(::testing::AllOf(
                  ::testing::HasSubstr(file.string()), ::testing::HasSubstr("it was damaged"),
                  ::testing::HasSubstr("remove the folder"))));
}

}  // namespace
}  // namespace draftlab
