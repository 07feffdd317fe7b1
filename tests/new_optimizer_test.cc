#include <gmock/gmock.h>
#include <signal.h>

#include <map>

#include "base/file.h"
#include "record/optimizer_kind.h"
#include "record/timing.h"
#include "record/transfer.h"
#include "record/update_cost.h"
#include "tests/smoke.h"

// The optimizer of tests/sign_pair.cc through the real programs, which know of it from that file
// alone.

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kAdamW[] = R"({"kind": "adamw", "learning_rate": 5e-3, "weight_decay": 0})";
constexpr char kMuon[] = R"({"kind": "muon", "learning_rate": 2e-2, "scale": "match_rms"})";
constexpr char kPair[] = R"({"kind": "sign_pair", "learning_rate": 2e-3})";
constexpr char kPairAtHalf[] = R"({"kind": "sign_pair", "learning_rate": 1e-3})";

Json arm(const std::string& name, const char* first, const char* then = nullptr) {
  JsonObject object{{"name", name}, {"optimizer", parse_json(first, name)}};
  if (then != nullptr) {
    JsonObject change{{"at", 15}};
    if (then != first) change["optimizer"] = parse_json(then, name);
    object["switches"] = JsonArray{change};
  }
  return object;
}

class NewOptimizerTest : public SmokeTest {
 protected:
  std::string sweep_of(const std::vector<Json>& arms, int64_t steps = 30) {
    return write_sweep("sweep.json", [&](JsonObject& sweep) {
      sweep["training"].as_object()["steps"] = steps;
      sweep["seeds"] = JsonArray{1};
      sweep["arms"] = JsonArray(arms.begin(), arms.end());
    });
  }

  // The segments of an arm's run, in order.
  std::vector<SegmentFolder> segments_of(const std::string& arm) {
    std::vector<SegmentFolder> folders;
    for (const PlannedRun& run : plan_of(path("out")).runs) {
      if (run.arm != arm) continue;
      for (const std::string& id : run.segments) folders.emplace_back(RunFolder(path("out")), id);
    }
    return folders;
  }

  // What became of the state of one matrix at an arm's switch: "exp_avg: carried".
  std::vector<std::string> transfer_of(const std::string& arm) {
    std::vector<std::string> fates;
    for (const TransferRow& row : read_transfer(segments_of(arm).back().transfer())) {
      if (row.tensor == "fc.weight")
        fates.push_back(row.buffer + ": " + row.fate +
                        (row.fate == "carried" ? " from " + row.how : ""));
    }
    return fates;
  }
};

TEST_F(NewOptimizerTest, IsListedExplainedPlannedAndCosted) {
  const Finished explained = draftlab({"optimizers", "sign_pair"});
  EXPECT_EQ(explained.status, 0);
  EXPECT_THAT(explained.output,
              AllOf(HasSubstr("8 bytes of state a parameter; no matrix products"),
                    HasSubstr("  slow_mean  1024 x 4096  mean gradient, decay 0.99\n"),
                    HasSubstr("decay of the fast mean gradient"), HasSubstr("adamw.beta1")));
  EXPECT_THAT(draftlab({"optimizers"}).output, HasSubstr("\nsign_pair "));
  const Finished plan = draftlab({"plan", sweep_of({arm("S", kPair)}), "--store", store()});
  EXPECT_EQ(plan.status, 0) << plan.output;
  EXPECT_THAT(plan.output, ::testing::ContainsRegex("fc.weight +.* +sign_pair +0.002 "));
}

TEST_F(NewOptimizerTest, TrainsSwitchesIsTimedAndReported) {
  const std::string sweep = sweep_of(
      {arm("S", kPair), arm("S resumed", kPair, kPair), arm("S slower", kPair, kPairAtHalf),
       arm("A", kAdamW), arm("A then S", kAdamW, kPair), arm("S then A", kPair, kAdamW),
       arm("S then M", kPair, kMuon), arm("M then S", kMuon, kPair)});
  const Finished run = draftlab({"run", sweep, "--out", path("out"), "--store", store()});
  ASSERT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(draftlab({"status", path("out")}).output, HasSubstr("8 runs: 8 done"));

  const std::string numbers = numbers_of(path("out"));
  const auto weights = [&](const std::string& name) {
    const size_t at = numbers.find(name + " seed=1: done at step 30, weights ");
    return at == std::string::npos ? "" : numbers.substr(numbers.find("weights ", at), 72);
  };
  EXPECT_EQ(weights("S resumed"), weights("S"));
  EXPECT_NE(weights("S slower"), weights("S"));
  EXPECT_NE(weights("S"), "");

  EXPECT_THAT(transfer_of("S slower"), Each(HasSubstr(": carried from ")));
  EXPECT_THAT(transfer_of("A then S"),
              AllOf(Contains("fast_mean: carried from exp_avg"),
                    Contains("slow_mean: carried from exp_avg"), Contains("exp_avg_sq: dropped")));
  EXPECT_THAT(transfer_of("S then A"),
              AllOf(Contains("exp_avg: reset"), Contains("exp_avg_sq: reset"),
                    Contains("fast_mean: dropped"), Contains("slow_mean: dropped")));
  EXPECT_THAT(transfer_of("S then M"),
              AllOf(Contains("momentum: carried from slow_mean"), Contains("fast_mean: dropped")))
      << "of two averages the one whose decay is nearer to Muon's";
  EXPECT_THAT(transfer_of("M then S"), AllOf(Contains("fast_mean: carried from momentum"),
                                             Contains("slow_mean: carried from momentum")));

  // Eight bytes a parameter, by the declaration and in memory, where counters come with it.
  const SegmentConfig config = read_task(segments_of("S")[0].task()).config;
  double bytes = 0, counters = 0;
  for (const Route& route : config.routing) {
    bytes +=
        8 * static_cast<double>(route.shape[0] * (route.shape.size() == 2 ? route.shape[1] : 1));
    counters += 16;
  }
  EXPECT_EQ(update_cost(config.routing, config.optimizer).state_bytes, bytes);
  const auto timing = read_timing(segments_of("S")[0].timing());
  ASSERT_TRUE(timing.has_value());
  EXPECT_EQ(static_cast<double>(timing->optimizer_bytes), bytes + counters);
  EXPECT_EQ(timing->period, 1);

  const std::string page = read_file(RunFolder(path("out")).report_page());
  EXPECT_THAT(page, AllOf(HasSubstr("sign_pair"), HasSubstr("S slower"), HasSubstr("slow_mean")));
  EXPECT_THAT(read_file(RunFolder(path("out")).report() / "updates.csv"), HasSubstr(",sign_pair,"));
}

TEST_F(NewOptimizerTest, ResumesToTheSameBits) {
  const std::string sweep = sweep_of({arm("S", kPair)}, 600);
  const std::string expected = undisturbed(sweep);
  Program run({"run", sweep, "--out", path("out"), "--store", store(), "--jobs", "1"});
  ASSERT_TRUE(eventually([&] {
    return fs::exists(RunFolder(path("out")).plan()) &&
           segment_of(path("out"), 0).last_checkpoint().value_or(0) >= 100;
  }));
  run.send(SIGKILL);
  run.wait();
  expect_resumed_as(expected, path("out"));
}

TEST_F(NewOptimizerTest, AnOptimizerThatIsNotInTheTablesIsUnknown) {
  const Finished plan = draftlab({"plan", sweep_of({arm("L", R"({"kind": "lion"})")})});
  EXPECT_EQ(plan.status, 1);
  EXPECT_THAT(plan.output, HasSubstr("'lion' is not known"));
}

}  // namespace
}  // namespace draftlab
