#include <gmock/gmock.h>

#include <map>

#include "base/file.h"
#include "record/outcome.h"
#include "source_dir.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kSweep[] = DRAFTLAB_SOURCE_DIR "/sweeps/halving_smoke.json";

class HalvingTest : public SmokeTest {
 protected:
  // Weights at the end of each run of this phase, by name.
  static std::map<std::string, std::string> weights_of(const std::string& out, const char* phase) {
    std::map<std::string, std::string> weights;
    for (const PlannedRun& run : plan_of(out).runs) {
      if (run.phase != phase) continue;
      const SegmentFolder last(RunFolder(out), run.segments.back());
      weights[run.name] = read_outcome(last.outcome())->weights_hash;
    }
    return weights;
  }
};

TEST_F(HalvingTest, ATrialThatGoesOnEndsWithTheWeightsOfOneThatNobodyJudged) {
  const std::string halved = path("halved"), whole = path("whole");
  const Finished run = draftlab({"run", kSweep, "--out", halved, "--store", store()});
  ASSERT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("4 of 8 go on from step 10"));
  EXPECT_THAT(run.output, HasSubstr("2 of 4 go on from step 20"));
  Json sweep = read_json(kSweep);
  sweep.as_object()["store"] = JsonObject{{"folder", store()}};
  sweep.as_object()["tuning"].as_object().erase("halving");
  replace_file(path("whole.json"), pretty(sweep));
  ASSERT_EQ(draftlab({"run", path("whole.json"), "--out", whole, "--store", store()}).status, 0);

  const auto judged = weights_of(halved, kTrial), undisturbed = weights_of(whole, kTrial);
  EXPECT_THAT(judged, SizeIs(16 + 8 + 4));
  size_t ended = 0;
  for (const auto& [name, hash] : undisturbed) {
    if (!judged.contains(name)) continue;
    EXPECT_EQ(judged.at(name), hash) << name;
    ++ended;
  }
  EXPECT_EQ(ended, 4u);
  EXPECT_EQ(weights_of(halved, kFinal), weights_of(whole, kFinal));
}

TEST_F(HalvingTest, AKillBetweenOrInsideOfTheRungsChangesNothing) {
  const std::string out = path("halved");
  ASSERT_EQ(draftlab({"run", kSweep, "--out", out, "--store", store(), "--jobs", "1"}).status, 0);
  const std::string numbers = numbers_of(out);
  for (const int64_t phase : {4, 3, 2}) {
    for (int64_t later = 4; later >= phase; --later) fs::remove(RunFolder(out).phase(later));
    const PlanRecord plan = plan_of(out);
    fs::remove_all(SegmentFolder(RunFolder(out), plan.segments.back().id).root());
    expect_resumed_as(numbers, out);
  }
}

TEST_F(HalvingTest, ADroppedTrialIsSaidToBeOneAndIsInNoNumber) {
  const std::string out = path("halved");
  ASSERT_EQ(draftlab({"run", kSweep, "--out", out, "--store", store()}).status, 0);
  const std::string page = read_file(RunFolder(out).report_page());
  EXPECT_THAT(page, HasSubstr("12 dropped on the way, 0 without a result"));
  EXPECT_THAT(page, HasSubstr("a trial that successive halving ended at step 10 of 30"));
  const Finished check = draftlab({"check", out});
  EXPECT_THAT(check.output, Not(HasSubstr("F13")));
  EXPECT_THAT(check.output, Not(HasSubstr("F15")));
  EXPECT_THAT(check.output, Not(HasSubstr("F16")));
}

}  // namespace
}  // namespace draftlab
