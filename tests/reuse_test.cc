// A study that grows: what a folder has finished is not trained again in the next.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/file.h"
#include "record/events.h"
#include "record/lives.h"
#include "record/origin.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ReuseTest : public SmokeTest {
 protected:
  // Two arms and these seeds and rates of AdamW.
  std::string write_study(const std::string& name, JsonArray seeds, JsonArray rates = {3e-3},
                          bool tuned = false) const {
    return write_sweep(name, [&](JsonObject& sweep) {
      const auto arm = [](const char* arm, const char* kind, const Json& rate) {
        return JsonObject{{"name", arm},
                          {"optimizer", JsonObject{{"kind", kind}, {"learning_rate", rate}}}};
      };
      sweep["seeds"] = seeds;
      if (tuned) sweep["tuning"] = JsonObject{{"seeds", JsonArray{101}}, {"extend", 0}};
      sweep["arms"] = JsonArray{arm("AdamW", "adamw", rates),
                                arm("Lion", "lion", tuned ? Json(rates) : Json(1e-4))};
    });
  }
  Finished run(const std::string& sweep, const std::string& out,
               const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"run",     sweep,   "--out",  path(out),
                                      "--store", store(), "--jobs", "1"};
    words.insert(words.end(), more.begin(), more.end());
    Finished finished = draftlab(words);
    EXPECT_EQ(finished.status, 0) << finished.output;
    return finished;
  }
  size_t trained(const std::string& out) const {
    return read_events(RunFolder(path(out)).events()).size();
  }
};

TEST_F(ReuseTest, MoreSeedsTrainOnlyTheNewOnesToTheBitsOfAStudyFromNothing) {
  run(write_study("three.json", {1, 2, 3}), "three");
  const std::string five = write_study("five.json", {1, 2, 3, 4, 5});
  const std::string expected = undisturbed(five);
  const Finished plan = draftlab({"plan", five, "--store", store(), "--reuse", path("three")});
  EXPECT_THAT(plan.output,
              HasSubstr("would be taken from " + path("three") + ": 6 of 10 segments"));
  const Finished grown = run(five, "five", {"--reuse", path("three")});
  EXPECT_THAT(grown.output, HasSubstr("taken from " + path("three") + ": 6 of 10 segments"));
  EXPECT_EQ(trained("five"), 4u);
  EXPECT_EQ(numbers_of(path("five")), expected);
  // Nothing of it hangs on the first folder, and its report knows who was alone there.
  fs::remove_all(path("three"));
  EXPECT_EQ(draftlab({"report", path("five")}).status, 0);
  const SegmentFolder taken = segment_of(path("five"), 0);
  EXPECT_EQ(read_origin(taken.origin())->folder, path("three"));
  EXPECT_EQ(read_origin(taken.origin())->alone, true);
  EXPECT_THAT(read_file(RunFolder(path("five")).report() / "runs.csv"), Not(HasSubstr(",no,no,")));
}

TEST_F(ReuseTest, AWiderGridAndAnotherArmTrainOnlyWhatIsNew) {
  run(write_study("narrow.json", {1}), "narrow");
  const std::string wide = write_study("wide.json", {1}, {1e-3, 3e-3, 1e-2});
  run(wide, "wide", {"--reuse", path("narrow")});
  EXPECT_EQ(trained("wide"), 2u);
  EXPECT_EQ(numbers_of(path("wide")), undisturbed(wide));
}

TEST_F(ReuseTest, TrialsOfATunedStudyAreTakenToo) {
  const std::string small = write_study("small.json", {1}, {1e-3, 3e-3}, true),
                    more = write_study("more.json", {1, 2}, {1e-3, 3e-3}, true);
  run(small, "small");
  run(more, "more", {"--reuse", path("small")});
  EXPECT_EQ(trained("more"), 2u) << "the second seed of each arm";
  EXPECT_EQ(numbers_of(path("more")), undisturbed(more));
}

TEST_F(ReuseTest, WhatIsDamagedOrOfAnotherBuildIsTrainedAnew) {
  const std::string sweep = write_study("s.json", {1, 2});
  const std::string expected = undisturbed(sweep);
  const RunFolder giver(path("undisturbed"));
  const SegmentFolder damaged = segment_of(giver.root(), 0), other = segment_of(giver.root(), 1);
  const std::string rows = read_file(damaged.metrics());
  replace_file(damaged.metrics(), rows.substr(0, rows.size() / 2));
  Json provenance = read_json(other.provenance());
  provenance.at("lives").at(0).as_object()["commit"] = "0ther";
  replace_file(other.provenance(), pretty(provenance));
  const Finished taken = run(sweep, "b", {"--reuse", giver.root().string()});
  EXPECT_THAT(taken.output, AllOf(HasSubstr(": 2 of 4 segments"),
                                  HasSubstr("1 segment there is of another build"),
                                  HasSubstr("1 segment there cannot be read whole")));
  EXPECT_EQ(numbers_of(path("b")), expected);
  run(sweep, "c", {"--reuse", giver.root().string(), "--any-build"});
  EXPECT_EQ(trained("c"), 1u);
  EXPECT_EQ(read_lives(segment_of(path("c"), 1).provenance())[0].build.at("commit"), "0ther")
      << "the lives are those of its origin";
  const Finished refused = draftlab({"run", sweep, "--out", path("d"), "--reuse", path("none")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.output, HasSubstr("none/plan.json"));
  EXPECT_FALSE(fs::exists(path("d"))) << "before anything is written";
}

}  // namespace
}  // namespace draftlab
