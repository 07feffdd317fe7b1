#include "record/metrics.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "base/file.h"

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

TEST_F(MetricsFile, AnUpdateRowReadsBackAsItWasAdded) {
  {
    MetricsLog log(file_, 0);
    log.add(UpdateRow{7, "self_attn.q_proj", "muon", 2e-3, 4e-2, 0.97, 0.31});
    log.add(UpdateRow{.step = 7, .kind = "norm", .rule = "adamw", .update_rms = 1e-3});
    log.flush();
  }
  const std::vector<UpdateRow> rows = read_metrics(file_).updates;
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].step, 7);
  EXPECT_EQ(rows[0].kind, "self_attn.q_proj");
  EXPECT_EQ(rows[0].rule, "muon");
  EXPECT_EQ(rows[0].update_rms, 2e-3);
  EXPECT_EQ(rows[0].weight_rms, 4e-2);
  EXPECT_EQ(rows[0].alignment, 0.97);
  EXPECT_EQ(rows[0].deviation, 0.31);
  EXPECT_TRUE(std::isnan(rows[1].alignment) && std::isnan(rows[1].deviation));
}

TEST(LayerKind, IsTheNameWithoutItsLayerAndItsEnding) {
  EXPECT_EQ(layer_kind("layers.0.self_attn.q_proj.weight"), "self_attn.q_proj");
  EXPECT_EQ(layer_kind("layers.12.input_layernorm.weight"), "input_layernorm");
  EXPECT_EQ(layer_kind("fc.weight"), "fc");
  EXPECT_EQ(layer_kind("layers.norm.weight"), "layers.norm");
  EXPECT_EQ(layer_kind("layers.1"), "layers.1");
}

}  // namespace
}  // namespace draftlab
