#include <gmock/gmock.h>

#include <algorithm>

#include "base/json.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AnswerCommandTest : public SmokeTest {};

TEST_F(AnswerCommandTest, ARunEndsWithTheAnswerThatTheCommandGivesAgain) {
  const std::string out = path("out");
  const std::string sweep = write_sweep("smoke.json", [](JsonObject& s) {
    s["seeds"] = JsonArray{1, 2, 3};
  });
  const Finished run = draftlab({"run", sweep, "--out", out, "--store", store()});
  ASSERT_EQ(run.status, 0) << run.output;
  const Finished answer = draftlab({"answer", out});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(run.output, HasSubstr(answer.output));
  EXPECT_THAT(answer.output, AllOf(HasSubstr("difference to AdamW"), HasSubstr("Speaks against: "),
                                   HasSubstr("bigram table"), HasSubstr("Checks: ")));
  EXPECT_EQ(draftlab({"check", out}).status, 3) << "it warns, and arms are left to compare";
  const Finished json = draftlab({"answer", out, "--json"});
  const Json object = parse_json(json.output, "answer");
  EXPECT_EQ(object.at("arms").as_array().size(), 4u);
  EXPECT_THAT(std::string(object.at("headline").as_string()), Not(HasSubstr("\n")));
  // The page says the same.
  const Finished status = draftlab({"status", out, "--json"});
  const Json folders = parse_json(status.output, "status");
  EXPECT_EQ(folders.at(0).at("runs").as_array().size(), plan_of(out).runs.size());
  EXPECT_THAT(draftlab({"status", out, out}).output, HasSubstr("ahead: "));
}

TEST_F(AnswerCommandTest, AnUnfinishedFolderIsAnsweredAndNoNameSteersTheTerminal) {
  const std::string out = path("out");
  const std::string sweep = write_sweep("smoke.json", [](JsonObject& s) {
    s["seeds"] = JsonArray{1};
    s["arms"].as_array().resize(2);
    s["arms"].at(1).as_object()["name"] = "arm\r\n\x1b[2J";
  });
  ASSERT_EQ(draftlab({"run", sweep, "--out", out, "--store", store()}).status, 0);
  std::filesystem::remove_all(RunFolder(out).segments());
  const Finished answer = draftlab({"answer", out});
  EXPECT_EQ(answer.status, 0) << answer.output;
  EXPECT_THAT(answer.output, HasSubstr("Nothing can be said yet"));
  EXPECT_EQ(std::ranges::count_if(answer.output, [](char c) { return c == 0x1b || c == '\r'; }), 0);
  EXPECT_EQ(draftlab({"answer", path("nothing")}).status, 1);
  EXPECT_EQ(draftlab({"answer"}).status, 2);
}

}  // namespace
}  // namespace draftlab
