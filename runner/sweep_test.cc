#include "runner/sweep.h"

#include <gmock/gmock.h>

#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(Sweep, ReadsEverySection) {
  const Sweep sweep =
      example_sweep({{"/store", R"({"specification": "../stores/s.json"})"},
                     {"/evaluation", R"({"at": [10, 50], "stride": 2})"},
                     {"/seeds", R"([3, {"weights": 1, "data": 2, "noise": 4}])"},
                     {"/target", R"({"metric": "acceptance_length", "value": 1.3})"},
                     {"/checkpoint_every", "7"}});
  EXPECT_EQ(sweep.name, "example");
  EXPECT_EQ(sweep.store_specification, "/stores/s.json");
  EXPECT_TRUE(sweep.store_folder.empty());
  EXPECT_THAT(sweep.arms[0].evaluation.steps, ElementsAre(0, 10, 50, 100));
  ASSERT_THAT(sweep.seeds, SizeIs(2));
  EXPECT_EQ(sweep.seeds[0].weights, 3);
  EXPECT_EQ(sweep.seeds[0].noise, 3);
  EXPECT_EQ(sweep.seeds[1].data, 2);
  EXPECT_EQ(sweep.target.metric, "acceptance_length");
  EXPECT_EQ(sweep.target.value, 1.3);
  EXPECT_EQ(sweep.checkpoint_every, 7);
  EXPECT_THAT(sweep.arms, SizeIs(1));
  EXPECT_THAT(sweep.notices, IsEmpty());
}

TEST(Sweep, PathsAreRelativeToTheFile) {
  EXPECT_EQ(example_sweep().store_folder, "/sweeps/store");
  EXPECT_EQ(example_sweep({{"/store/folder", "\"/data/s\""}}).store_folder, "/data/s");
}

TEST(Sweep, EqualGridPointsCollapseWithANotice) {
  const Sweep sweep = example_sweep({{"/arms/0/optimizer/learning_rate", "[1e-3, 0.001, 0.002]"}});
  EXPECT_THAT(sweep.arms[0].points, SizeIs(2));
  ASSERT_THAT(sweep.notices, SizeIs(1));
  EXPECT_THAT(sweep.notices[0], HasSubstr("arms[0].optimizer.learning_rate"));
}

TEST(Sweep, NamesMayBeAnyText) {
  const std::string name = R"("é中文: \"x\" <b>/../\u001b[2J")";
  EXPECT_NO_THROW(example_sweep({{"/name", name}, {"/arms/0/name", name}}));
}

struct Broken {
  std::string pointer, value, message;
};

// The message starts with the file and the exact path of the key.
TEST(Sweep, EachMistakeIsAnErrorAtItsKey) {
  const std::string file = "/sweeps/example.json: ";
  const Broken cases[] = {
      {"/name", R"("  ")", "name: is empty"},
      {"/arm", "1", "arm: is not a known key; did you mean 'arms'?"},
      {"/questions", "[]", "questions: must be a list of at least one"},
      {"/questions", R"([{"arm": "adamw", "against": "muno"}])",
       "questions[0].against: 'muno' is no arm of this sweep"},
      {"/questions", R"([{"arm": "adamw", "against": "adamw"}])",
       "questions[0]: asks an arm against itself"},
      {"/questions", R"([{"arm": "adamw", "against": "adamw", "measure": "speed"}])",
       "questions[0].measure: "},
      {"/same", "0", "same: must be above 0"},
      {"/store", "{}", "store: give either"},
      {"/store/specification", R"("x.json")", "store: give either"},
      {"/store/folder", R"("")", "store.folder: is empty"},
      {"/training/steps", "0", "training.steps: must be at least 1, is 0"},
      {"/training/steps", "\"100\"", "training.steps: must be a whole number, is a string"},
      {"/training/warmup", "1.5", "training.warmup: must lie between 0 and 1, is 1.5"},
      {"/training/step", "5", "training.step: is not a known key; did you mean 'steps'?"},
      {"/training/loss", R"("cross_entropy")", "training.loss: 'cross_entropy' is not known"},
      {"/training/loss", R"({"kind": "kl", "alpha": 1})",
       "training.loss.alpha: is not a known key"},
      {"/training/loss", R"({"kl": 0.5, "ec": 0.5})", "training.loss.ec: 'ec' is not known"},
      {"/arms/0/training", R"({"loss": {"dpace": 0.5, "ce": 0.5}})",
       "arms[0].training.loss.dpace: weighs the slots itself"},
      {"/evaluation/every", "0", "evaluation.every: must lie between 1 and 100"},
      {"/evaluation/at", "[50]", "evaluation: give either"},
      {"/evaluation/stride", "0", "evaluation.stride: must be at least 1"},
      {"/split/held_out", "0", "split.held_out: must be at least 1"},
      {"/seeds", "[]", "seeds: is an empty list"},
      {"/seeds", "7", "seeds: must be a list"},
      {"/seeds", "[1, 2, 1]", "seeds[2]: is the same seed as seeds[0]"},
      {"/seeds", R"([1, {"weights": 1, "data": 1, "noise": 1}])",
       "seeds[1]: is the same seed as seeds[0]"},
      {"/seeds", "[1.5]", "seeds[0]: must be a whole number or"},
      {"/seeds", "[-1]", "seeds[0]: must be at least 0"},
      {"/seeds", R"([{"weights": 1, "data": 2}])", "seeds[0].noise: is missing"},
      {"/target", R"({"metric": "loss", "value": 1})", "target.metric: 'loss' is not known"},
      {"/target", R"({"metric": "acceptance_length", "value": 0.5})",
       "target.value: must lie between 1"},
      {"/target", R"({"metric": "val_loss", "value": "NaN"})", "target.value: must lie between 0"},
      {"/checkpoint_every", "0", "checkpoint_every: must be at least 1"},
      {"/arms", "[]", "arms: is an empty list"},
      {"/arms/0/name", "null", "arms[0].name: must be a string, is null"},
      {"/arms/1", R"({"name": "adamw", "optimizer": {"kind": "muon"}})",
       "arms[1].name: 'adamw' is also the name of arms[0]"},
      {"/arms", R"([{"name": "a", "optimizer": {"kind": "adamw"}},
                    {"name": "b", "optimizer": {"kind": "adamw"}},
                    {"name": "b", "optimizer": {"kind": "muon"}}])",
       "arms[2].name: 'b' is also the name of arms[1]"},
      {"/arms/0/optimizer/kind", R"("adam")", "arms[0].optimizer.kind: 'adam' is not known"},
      {"/arms/0/optimizer/momentum", "0.9",
       "arms[0].optimizer.momentum: is not an option of adamw"},
      {"/arms/0/optimizer/learning_rate", "[]",
       "arms[0].optimizer.learning_rate: is an empty list"},
      {"/arms/0/optimizer/beta1", "1.0", "arms[0].optimizer.beta1: must lie between 0"},
      {"/arms/0/routing", "{}", "arms[0].routing: must be a list"},
      {"/arms/0/optimiser", "{}",
       "arms[0].optimiser: is not a known key; did you mean 'optimizer'?"},
  };
  for (const Broken& broken : cases) {
    SCOPED_TRACE(broken.pointer + " = " + broken.value);
    EXPECT_THAT(message_of([&] {
                  example_sweep({{broken.pointer, broken.value}});
                }),
                StartsWith(file + broken.message));
  }
}

TEST(Sweep, AGridThatNobodyCanRunIsAnErrorBeforeItFillsTheMemory) {
  std::string many = "[0";
  for (int i = 1; i < 1000; ++i) many += ", " + std::to_string(i / 2000.0).substr(0, 8);
  many += "]";
  EXPECT_THAT(message_of([&] {
                example_sweep({{"/arms/0/optimizer/beta1", many},
                               {"/arms/0/optimizer/beta2", many},
                               {"/arms/0/optimizer/weight_decay", many}});
              }),
              HasSubstr("arms[0].optimizer: its lists make more than 100,000 runs"));
}

TEST(Sweep, AMissingFileIsNamed) {
  EXPECT_THAT(message_of([] { read_sweep("/nowhere/s.json"); }), StartsWith("/nowhere/s.json: "));
}

}  // namespace
}  // namespace draftlab
