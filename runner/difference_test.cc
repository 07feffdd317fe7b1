#include "runner/difference.h"

#include <gmock/gmock.h>

#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string between(const char* a, const char* b) {
  return text_of(find_differences(parse_json(a, "a"), parse_json(b, "b")));
}

TEST(Difference, NamesKeyPathOldAndNew) {
  EXPECT_EQ(
      between(R"({"a": {"b": [1, {"c": 2}]}, "x": 1})", R"({"a": {"b": [1, {"c": 3}]}, "y": "z"})"),
      "  a.b[1].c: 2 -> 3\n"
      "  x: 1 -> (absent)\n"
      "  y: (absent) -> \"z\"\n");
}

TEST(Difference, APlainListIsShownWhole) {
  EXPECT_EQ(between(R"({"lr": [0.1, 0.2]})", R"({"lr": [0.1]})"), "  lr: [0.1,0.2] -> [0.1]\n");
}

TEST(Difference, NumbersAreEqualByValueAndOrderOfKeysDoesNotMatter) {
  EXPECT_EQ(between(R"({"a": 3, "b": 1e-3})", R"({"b": 0.001, "a": 3.0})"), "");
}

TEST(Difference, LongListsOfDifferencesAreCounted) {
  std::vector<Difference> many(25, {"k", "1", "2"});
  EXPECT_THAT(text_of(many, 20), HasSubstr("  and 5 more\n"));
}

TEST(Difference, PlansThatTrainAndShowTheSameDoNotDiffer) {
  EXPECT_THAT(find_differences(example_plan(), example_plan({{"/arms/0/optimizer/beta1", "0.9"}})),
              IsEmpty());
}

TEST(Difference, PlansDifferByTheirSweepFiles) {
  EXPECT_EQ(text_of(find_differences(example_plan(), example_plan({{"/training/steps", "200"}}))),
            "  training.steps: 100 -> 200\n");
  EXPECT_EQ(
      text_of(find_differences(
          example_plan(), example_plan({{"/target", R"({"metric": "val_loss", "value": 2})"}}))),
      "  target: (absent) -> {\"metric\":\"val_loss\",\"value\":2}\n");
}

TEST(Difference, WhereTheFilesAreEqualTheResolvedValuesTell) {
  PlannedStore other = example_store();
  other.hash = "4567";
  EXPECT_EQ(text_of(find_differences(example_plan(), make_plan(example_sweep(), other))),
            "  store_hash: \"0123\" -> \"4567\"\n");
  PlanRecord old = example_plan();
  old.segments[0].config.drafter.rope_theta = 5000;  // another version's default
  old.segments[0].id = old.runs[0].segments[0] = segment_id(old.segments[0].config);
  EXPECT_EQ(text_of(find_differences(old, example_plan())),
            "  segments[0].drafter.rope_theta: 5000 -> 10000\n");
}

}  // namespace
}  // namespace draftlab
