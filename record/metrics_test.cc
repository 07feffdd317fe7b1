#include "record/metrics.h"

#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cmath>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "testing/every_field.h"

namespace {
int syncs = 0;
}

// Counts what the log asks the system to make last, in place of the C library's.
extern "C" int fsync(int descriptor) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class MetricsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("draftlab_metrics_test_" + std::to_string(::getpid()));
    make_folder(folder_);
    file_ = folder_ / "metrics.jsonl";
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Writes what a segment that evaluates every second step logs in steps first..last.
  void log_steps(MetricsLog& log, int64_t first, int64_t last) {
    for (int64_t step = first; step <= last; ++step) {
      if (step > 0) log.add(StepRow{.step = step, .loss = 0.1 * static_cast<double>(step)});
      if (step % 2 == 0) {
        if (step > 0) log.add(UpdateRow{.step = step, .kind = "fc", .rule = "adamw"});
        log.add(EvaluationRow{.step = step, .split = "held_out", .slot_accuracy = {0.5}});
      }
      log.flush();
    }
  }
  std::vector<int64_t> steps() {
    std::vector<int64_t> steps;
    for (const StepRow& row : read_metrics(file_).steps) steps.push_back(row.step);
    return steps;
  }
  std::vector<int64_t> evaluations() {
    std::vector<int64_t> steps;
    for (const EvaluationRow& row : read_metrics(file_).evaluations) steps.push_back(row.step);
    return steps;
  }
  std::vector<int64_t> updates() {
    std::vector<int64_t> steps;
    for (const UpdateRow& row : read_metrics(file_).updates) steps.push_back(row.step);
    return steps;
  }

  fs::path folder_, file_;
};

TEST_F(MetricsFile, AResumedLogHoldsEveryRowOnceAndEqualsAnUninterruptedOne) {
  int64_t at_step_4 = 0;
  {
    MetricsLog log(file_, 0);
    log_steps(log, 0, 4);
    at_step_4 = log.bytes();
    log_steps(log, 5, 6);
  }
  const std::string whole = read_file(file_);
  {
    MetricsLog log(file_, at_step_4);  // the last checkpoint was of step 4
    EXPECT_THAT(steps(), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(evaluations(), ElementsAre(0, 2, 4));
    EXPECT_THAT(updates(), ElementsAre(2, 4));
    log_steps(log, 5, 6);
  }
  EXPECT_EQ(read_file(file_), whole);
}

TEST_F(MetricsFile, ATornLastLineIsIgnoredAndABrokenEarlierOneIsAnError) {
  {
    MetricsLog log(file_, 0);
    log_steps(log, 0, 3);
  }
  std::ofstream(file_, std::ios::app) << "{\"row\":\"st";
  EXPECT_THAT(steps(), ElementsAre(1, 2, 3));
  std::ofstream(file_, std::ios::app) << "\n";
  EXPECT_THAT([&] { read_metrics(file_); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("metrics.jsonl, line 7")));
}

TEST_F(MetricsFile, NotANumberSurvivesTheRoundTrip) {
  {
    MetricsLog log(file_, 0);
    log.add(StepRow{.step = 1, .loss = std::nan(""), .gradient_norm = INFINITY});
    log.flush();
  }
  const Metrics metrics = read_metrics(file_);
  EXPECT_TRUE(metrics.steps.empty() ? false : std::isnan(metrics.steps[0].loss));
  EXPECT_EQ(metrics.steps[0].gradient_norm, INFINITY);
}

TEST_F(MetricsFile, RowsAreWrittenAndSyncedOnceAtAFlush) {
  MetricsLog log(file_, 0);
  log.add(StepRow{.step = 1});
  EXPECT_TRUE(steps().empty());
  syncs = 0;
  log.flush();
  EXPECT_EQ(syncs, 1);
  log.add(StepRow{.step = 2});
  log.flush();
  EXPECT_THAT(steps(), ElementsAre(1, 2));
}

// Also where rows have another order of keys than ours, which takes another way into the structure.
TEST_F(MetricsFile, EveryFieldOfEveryRowReadsBack) {
  const StepRow step = numbered(StepRow());
  const UpdateRow update = numbered(UpdateRow{.weight_spectrum = {0, 0}, .momentum_spectrum = {0}});
  const EvaluationRow evaluation = numbered(EvaluationRow{.slot_accuracy = {0, 0, 0},
                                                          .prefix_share = {0, 0},
                                                          .expected_acceptance = {0, 0},
                                                          .top_2_recall = {0},
                                                          .top_4_recall = {0, 0},
                                                          .top_8_recall = {0, 0, 0},
                                                          .tree_lengths = {0, 0, 0, 0},
                                                          .prompt_blocks = {0, 0},
                                                          .prompt_matches = {0}});
  {
    MetricsLog log(file_, 0);
    log.add(step);
    log.add(update);
    log.add(evaluation);
    log.add(UpdateRow{.step = 7, .kind = "norm", .rule = "adamw", .update_rms = 1e-3});
    log.flush();
  }
  std::string reordered;
  for_each_json_line(file_, [&](const Json& value, const std::string&) {
    JsonObject object;
    for (const auto& member : value.as_object())
      if (member.key() != "row") object[member.key()] = member.value();
    object["row"] = value.at("row");
    reordered += boost::json::serialize(object) + "\n";
  });
  for (const std::string& text : {read_file(file_), reordered}) {
    replace_file(file_, text);
    const Metrics metrics = read_metrics(file_);
    ASSERT_EQ(metrics.steps.size(), 1u);
    EXPECT_EQ(field_texts(metrics.steps[0]), field_texts(step));
    ASSERT_EQ(metrics.updates.size(), 2u);
    EXPECT_EQ(field_texts(metrics.updates[0]), field_texts(update));
    EXPECT_TRUE(std::isnan(metrics.updates[1].alignment));
    EXPECT_TRUE(std::isnan(metrics.updates[1].deviation));
    ASSERT_EQ(metrics.evaluations.size(), 1u);
    EXPECT_EQ(field_texts(metrics.evaluations[0]), field_texts(evaluation));
  }
}

TEST_F(MetricsFile, EveryFieldOfTheBaselinesReadsBack) {
  Baselines baselines = numbered(Baselines());
  baselines.near_copies = {1, 0};
  write_baselines(file_, baselines);
  EXPECT_EQ(field_texts(read_baselines(file_)), field_texts(baselines));
}

TEST_F(MetricsFile, BaselinesOfAnOlderVersionReadBackWithoutWhatTheyDoNotKnow) {
  write_baselines(file_, {.bigram_acceptance_length = 1.25});
  EXPECT_THAT(read_file(file_), ::testing::Not(::testing::HasSubstr("look_up")));
  EXPECT_TRUE(std::isnan(read_baselines(file_).look_up_acceptance_length));
}

TEST_F(MetricsFile, TreeLengthsOfOtherBudgetsAreAnError) {
  {
    MetricsLog log(file_, 0);
    log.add(EvaluationRow{.split = "tuning", .tree_lengths = {1.5, 1.75}});
    log.flush();
  }
  EXPECT_THAT([&] { read_metrics(file_); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::HasSubstr("line 1: tree_lengths: must have 4 numbers, has 2")));
}

TEST_F(MetricsFile, ANearCopyThatIsNoFlagIsAnError) {
  for (const int64_t flag : {2, -1}) {
    Baselines baselines;
    baselines.near_copies = {0, flag};
    write_baselines(file_, baselines);
    try {
      read_baselines(file_);
      FAIL() << "nobody can count by " << flag;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), file_.string() +
                                               ": near_copies: holds a flag that is "
                                               "neither 0 nor 1");
    }
  }
}

TEST(LayerKind, IsTheNameWithoutItsLayerAndItsEnding) {
  EXPECT_EQ(tensor_kind("layers.0.self_attn.q_proj.weight"), "self_attn.q_proj");
  EXPECT_EQ(tensor_kind("layers.12.input_layernorm.weight"), "input_layernorm");
  EXPECT_EQ(tensor_kind("fc.weight"), "fc");
  EXPECT_EQ(tensor_kind("layers.norm.weight"), "layers.norm");
  EXPECT_EQ(tensor_kind("layers.1"), "layers.1");
}

}  // namespace
}  // namespace draftlab
