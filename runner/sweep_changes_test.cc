#include "runner/sweep_changes.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string changed(const std::vector<std::string>& changes) {
  const Json sweep = parse_json(
      R"({"training": {"steps": 5}, "arms": [{"name": "A", "rate": 1}, {"name": "Muon"}]})", "s");
  return canonical(with_changes(sweep, changes));
}

TEST(SweepChanges, ReachObjectsAndElementsByIndexOrName) {
  EXPECT_EQ(changed({}),
            R"({"arms":[{"name":"A","rate":1},{"name":"Muon"}],"training":{"steps":5}})");
  EXPECT_EQ(
      changed({"training.steps=7", "arms[0].rate=[0.5, 2]", "arms[Muon].optimizer.kind=muon"}),
      R"({"arms":[{"name":"A","rate":[0.5,2]},{"name":"Muon","optimizer":{"kind":"muon"}}],)"
      R"("training":{"steps":7}})");
  EXPECT_EQ(changed({"training.steps=7", "training.steps=8"}), changed({"training.steps=8"}))
      << "the last one counts";
  EXPECT_EQ(changed({"name=a=b"}), changed({R"(name="a=b")"})) << "only the first = parts";
}

TEST(SweepChanges, ThatReachNothingAreErrorsThatNameThem) {
  const auto expect_refused = [](const std::string& change, const std::string& what) {
    EXPECT_THAT([&] { changed({change}); }, ThrowsMessage<Error>(::testing::AllOf(
                                                HasSubstr("--set " + change), HasSubstr(what))));
  };
  expect_refused("training.steps", "must be PATH=VALUE");
  expect_refused("=3", "has no path");
  expect_refused("training..steps=3", "empty part");
  expect_refused("arms[2].rate=3", "there is no element 2; the list has 2");
  expect_refused("arms[Mion].rate=3", "did you mean 'Muon'?");
  expect_refused("arms[0.rate=3", "has no ]");
  expect_refused("training[0]=3", "there is no list");
  expect_refused("training.steps.more=3", "there is no object");
}

}  // namespace
}  // namespace draftlab
