#include "record/decoding.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/file.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class DecodeCommandTest : public SmokeTest {
 protected:
  // Two arms, one seed, six steps.
  std::string small_sweep(const std::string& name, const char* decode) {
    return write_sweep(name, [&](JsonObject& s) {
      s["seeds"] = JsonArray{1};
      s["arms"].as_array().resize(2);
      s["arms"].at(0).as_object()["optimizer"].as_object()["learning_rate"] = 1e-2;
      s["training"].as_object()["steps"] = 6;
      s["evaluation"] = JsonObject{{"every", 3}, {"stride", 2}};
      if (decode != nullptr) s["decode"] = parse_json(decode, "test");
    });
  }
};

TEST_F(DecodeCommandTest, ASweepThatAsksForItDecodesBehindItsLastRunAndChangesNoTraining) {
  const std::string out = path("out"), without = path("without");
  const std::string sweep =
      small_sweep("d.json", R"({"prompts": 5, "tokens": 16, "batch": 2, "threads": 1})");
  const Finished run = draftlab({"run", sweep, "--out", out, "--store", store()});
  ASSERT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("decoding AdamW"), HasSubstr("5 answers as without it")));
  for (const PlannedRun& one : plan_of(out).runs) {
    const auto record =
        read_decoding(SegmentFolder(RunFolder(out), one.segments.back()).decoding());
    ASSERT_TRUE(record) << one.name;
    EXPECT_EQ(record->prompts.size(), 5u);
    EXPECT_EQ(record->different(), 0);
    EXPECT_EQ(record->speculative.tokens, record->plain.tokens);
    EXPECT_LE(record->speculative.passes, record->plain.passes);
    EXPECT_EQ(record->samples.size(), 5u);
  }
  const std::string page = read_file(RunFolder(out).report_page());
  EXPECT_THAT(page, AllOf(HasSubstr("All 10 answers are those of plain decoding"),
                          HasSubstr("made-up-"), HasSubstr("decoding-calibration")));
  EXPECT_THAT(read_file(RunFolder(out).report() / "runs.csv"), HasSubstr("tokens_per_pass"));
  ASSERT_EQ(draftlab({"run", small_sweep("w.json", nullptr), "--out", without, "--store", store()})
                .status,
            0);
  EXPECT_EQ(numbers_of(without), numbers_of(out));
  // What is there is not measured again, what was removed is.
  fs::remove(segment_of(out, 0).decoding());
  const Finished again = draftlab({"resume", out});
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.output, HasSubstr("decoding AdamW"));
  EXPECT_EQ(again.output.find("decoding Muon"), std::string::npos) << again.output;
}

TEST_F(DecodeCommandTest, TriesADrafterOnPromptsOfAFileAndSaysWhatIsWrongWithOthers) {
  const std::string out = path("out");
  ASSERT_EQ(
      draftlab({"run", small_sweep("s.json", nullptr), "--out", out, "--store", store()}).status,
      0);
  const std::string prompts = path("prompts.jsonl");
  replace_file(prompts, R"({"id": "a-1", "token_ids": [5, 6, 7]}
{"id": "b-1", "token_ids": [1, 2]}
)");
  const auto decode = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"decode", out, "--run", "Muon", "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return draftlab(words);
  };
  const Finished greedy = decode({"--prompts", prompts, "--tokens", "12", "--json"});
  ASSERT_EQ(greedy.status, 0) << greedy.output;
  const Json json = parse_json(greedy.output, "decode");
  EXPECT_EQ(json.at(0).at("prompts").as_int64(), 2);
  EXPECT_EQ(json.at(0).at("different").as_int64(), 0);
  EXPECT_FALSE(fs::exists(segment_of(out, 1).decoding())) << "other prompts are not in the report";
  EXPECT_EQ(decode({"--prompts", prompts, "--temperature", "0.7", "--seed", "3"}).status, 0);

  const Finished looked_up = decode({"--tokens", "12", "--proposer", "look_up", "--json"});
  ASSERT_EQ(looked_up.status, 0) << looked_up.output;
  const Json found = parse_json(looked_up.output, "decode");
  EXPECT_EQ(found.at(0).at("proposer").as_string(), "look_up");
  EXPECT_EQ(found.at(0).at("different").as_int64(), 0);
  EXPECT_FALSE(fs::exists(segment_of(out, 1).decoding())) << "the report is about drafters";

  const Finished trees = decode({"--tokens", "12", "--tree", "0,4,16", "--json"});
  ASSERT_EQ(trees.status, 0) << trees.output;
  const Json budgets = parse_json(trees.output, "decode");
  ASSERT_EQ(budgets.as_array().size(), 3u);
  for (const Json& one : budgets.as_array()) EXPECT_EQ(one.at("different").as_int64(), 0);
  EXPECT_EQ(budgets.at(2).at("tree").as_int64(), 16);
  EXPECT_FALSE(fs::exists(segment_of(out, 1).decoding()));

  const auto fails = [&](const std::vector<std::string>& more, int status, const char* text) {
    const Finished finished = decode(more);
    EXPECT_EQ(finished.status, status) << finished.output;
    EXPECT_THAT(finished.output, HasSubstr(text));
  };
  fails({"--prompts", path("nowhere.jsonl")}, 1, "nowhere.jsonl: is not there");
  replace_file(prompts, R"({"id": "a-1", "prompt": "Hello"})");
  fails({"--prompts", prompts}, 1, "only GGUF targets bring a tokenizer");
  replace_file(prompts, R"({"id": "a-1", "token_ids": [500]})");
  fails({"--prompts", prompts}, 1, "prompt a-1: token 500 is outside of the target's vocabulary");
  replace_file(prompts, R"({"id": "a-1", "token_ids": []})");
  fails({"--prompts", prompts}, 1, "must not be empty");
  replace_file(prompts, R"({"id": "a-1", "token_ids": [1]})");
  fails({"--prompts", prompts, "--tokens", "5000"}, 1, "the target's context ends at 4096");
  fails({"--temperature", "-1"}, 2, "--temperature must be between 0 and 100");
  fails({"--tree", "8,"}, 1, "--tree");
  fails({"--tree", "-8"}, 2, "--tree must be whole numbers from 0 to 1024");
  fails({"--tree", "8", "--temperature", "1"}, 2, "--tree is for greedy decoding with a drafter");
  fails({"--proposer", "oracle"}, 2, "--proposer must be drafter or look_up");
  fails({"--run", "Nobody"}, 1, "Nobody");
  // A drafter whose training was taken away, and one for a target that is another one by now.
  fs::remove_all(segment_of(out, 1).checkpoints());
  fails({}, 1, "is not trained to its end");
  const Finished other = draftlab({"decode", path("nothing")});
  EXPECT_EQ(other.status, 1);
}

TEST_F(DecodeCommandTest, ASweepWithAnUnknownKeyOfDecodeIsRefusedBeforeAnythingRuns) {
  const std::string sweep = small_sweep("bad.json", R"({"token": 5})");
  const Finished run = draftlab({"run", sweep, "--out", path("out"), "--store", store()});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, AllOf(HasSubstr("decode"), HasSubstr("token")));
  EXPECT_FALSE(fs::exists(path("out")));
}

}  // namespace
}  // namespace draftlab
