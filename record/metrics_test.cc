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
      if (step % 2 == 0)
        log.add(EvaluationRow{.step = step, .split = "held_out", .slot_accuracy = {0.5}});
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

  fs::path folder_, file_;
};

TEST_F(MetricsFile, AResumedLogHoldsEveryRowOnceAndEqualsAnUninterruptedOne) {
  {
    MetricsLog log(file_, 0);
    log_steps(log, 0, 6);
  }
  const std::string whole = read_file(file_);
  {
    MetricsLog log(file_, 4);  // the last checkpoint was of step 4
    EXPECT_THAT(steps(), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(evaluations(), ElementsAre(0, 2, 4));
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
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("metrics.jsonl, line 6")));
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

}  // namespace
}  // namespace draftlab
