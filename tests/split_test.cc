// A split by groups of prompts, through the real programs.
#include <gmock/gmock.h>

#include <algorithm>

#include "base/file.h"
#include "base/number_text.h"
#include "record/metrics.h"
#include "source_dir.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Ten kinds of prompts, four of each, which differ in one word of ten.
class SplitTest : public SmokeTest {
 protected:
  // The specification of a store of them; its path.
  std::string write_store(bool grouped) const {
    std::string lines;
    for (int64_t i = 0; i < 40; ++i) {
      const int64_t kind = i % 10;
      JsonArray tokens;
      for (int64_t t = 0; t < 9; ++t) tokens.push_back(1 + 9 * kind + t);
      tokens.push_back(100 + i / 2);
      JsonObject prompt{{"id", "p" + std::to_string(i)}, {"token_ids", tokens}};
      if (grouped) prompt["group"] = "kind " + std::to_string(kind);
      lines += canonical(prompt) + "\n";
    }
    replace_file(path("prompts.jsonl"), lines);
    Json store = read_json(DRAFTLAB_SOURCE_DIR "/sweeps/stores/made_up.json");
    store.as_object()["prompts"] = JsonObject{{"file", "prompts.jsonl"}};
    replace_file(path("store.json"), pretty(store));
    return path("store.json");
  }

  // One arm, so that the checks speak of prompts.
  std::string write_split_sweep(const std::string& by, int64_t train = 24,
                                int64_t held_out = 8) const {
    return write_sweep(by + ".json", [&](JsonObject& sweep) {
      sweep["store"] = JsonObject{{"specification", path("store.json")}};
      sweep["split"] =
          JsonObject{{"train", train}, {"tuning", 4}, {"held_out", held_out}, {"by", by}};
      sweep["arms"].as_array().resize(2);
    });
  }

  std::vector<int64_t> near_copies(const std::string& out) const {
    const RunFolder folder(path(out));
    const PlanRecord plan = read_plan(folder);
    return read_baselines(SegmentFolder(folder, plan.segments[0].id).baselines()).near_copies;
  }
};

TEST_F(SplitTest, WhatIsAlikeIsDealtOutAsAWholeAndF44IsClean) {
  write_store(true);
  const auto checked = [&](const std::string& by) {
    const Finished run = draftlab(
        {"run", write_split_sweep(by), "--out", path(by), "--store", path("store"), "--jobs", "2"});
    EXPECT_EQ(run.status, 0) << run.output;
    return draftlab({"check", path(by)}).output;
  };
  EXPECT_THAT(checked("sequence"), AllOf(HasSubstr("6 of 8 held-out prompts have a near copy"),
                                         HasSubstr("\"by\": \"similarity\"")));
  EXPECT_EQ(std::ranges::count(near_copies("sequence"), 1), 6);
  for (const std::string by : {"group", "similarity"}) {
    EXPECT_THAT(checked(by), Not(HasSubstr("F44"))) << by;
    EXPECT_EQ(near_copies(by), std::vector<int64_t>(8, 0)) << by;
    EXPECT_THAT(read_file(RunFolder(path(by)).report_page()),
                HasSubstr("8 held-out sequences, split by " + by));
  }
  EXPECT_THAT(draftlab({"store", "show", path("store")}).output,
              HasSubstr("groups        10 of prompts"));
}

TEST_F(SplitTest, AStoreWithoutGroupsIsRefusedBeforeAnythingIsWritten) {
  const std::string built = store();
  const std::string sweep = write_sweep(
      "group.json", [&](JsonObject& sweep) { sweep["split"].as_object()["by"] = "group"; });
  for (const std::string& where : {built, path("not there")}) {
    const Finished run = draftlab({"run", sweep, "--out", path("out"), "--store", where});
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.output, AllOf(HasSubstr("40 of the 40 prompts have no group"),
                                  HasSubstr("build the store anew, or split by \"similarity\"")));
    EXPECT_FALSE(fs::exists(path("out")));
    EXPECT_FALSE(fs::exists(path("not there")));
  }
}

TEST_F(SplitTest, ASplitThatGroupsCannotFillIsRefusedBeforeThePlanIsFrozen) {
  write_store(false);
  for (const char* command : {"run", "plan"}) {
    std::vector<std::string> words = {command,   write_split_sweep("similarity", 26, 10),
                                      "--store", path("store"),
                                      "--out",   path("out")};
    const Finished refused = draftlab(words);
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.output, AllOf(HasSubstr("the split asks for 26 training, 4 tuning and 10"),
                                      HasSubstr("the 10 groups here, the largest of 4"),
                                      HasSubstr("split: the store cannot be split like this")));
    EXPECT_FALSE(fs::exists(RunFolder(path("out")).plan()));
  }
}

}  // namespace
}  // namespace draftlab
