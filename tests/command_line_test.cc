#include <gmock/gmock.h>

#include <algorithm>

#include "base/file.h"
#include "record/optimizer_kind.h"
#include "source_dir.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CommandLineTest : public SmokeTest {};

TEST_F(CommandLineTest, EveryCommandTeachesByExample) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"plan"},
                                             {"run"},
                                             {"resume"},
                                             {"status"},
                                             {"report"},
                                             {"check"},
                                             {"store"},
                                             {"store", "build"},
                                             {"store", "show"},
                                             {"store", "verify"},
                                             {"optimizers"},
                                             {"pipeline"},
                                             {"decide"},
                                             {"signature"}}) {
    std::vector<std::string> with_help = words;
    with_help.push_back("--help");
    const Finished help = draftlab(with_help);
    EXPECT_EQ(help.status, 0) << help.output;
    std::string example = "\n  draftlab";
    for (const std::string& word : words) example += " " + word;
    EXPECT_THAT(
        help.output,
        HasSubstr(words == std::vector<std::string>{"store"} ? "\n  draftlab store" : example));
  }
}

TEST_F(CommandLineTest, ACommandLineThatMakesNoSenseEndsWithStatus2AndTheNearestName) {
  const struct {
    std::vector<std::string> words;
    std::string says;
  } cases[] = {
      {{}, "a command is missing"},
      {{"stauts"}, "unknown command 'stauts'; did you mean 'status'?"},
      {{"frobnicate"}, "unknown command 'frobnicate'"},
      {{"run", "s.json", "--job", "2"}, "unknown option --job; did you mean --jobs?"},
      {{"run", "s.json"}, "--out DIR is missing"},
      {{"run", "--out", "x"}, "SWEEP.json is missing"},
      {{"run", "s.json", "--out"}, "--out"},
      {{"run", "s.json", "--out", "x", "--jobs", "0"}, "--jobs must be a whole number from 1"},
      {{"run", "s.json", "--out", "x", "--jobs", "two"}, "--jobs must be a whole number"},
      {{"run", "s.json", "--out", "x", "--jobs", "1.5"}, "--jobs must be a whole number"},
      {{"resume", "a", "b"}, "too many arguments"},
      {{"report"}, "DIR is missing"},
      {{"report", "a", "b"}, "--out DIR is missing"},
      {{"report", "a", "--each"}, "--each needs --out DIR"},
      {{"check"}, "DIR is missing"},
      {{"store", "biuld"}, "did you mean 'build'?"},
  };
  for (const auto& each : cases) {
    const Finished finished = draftlab(each.words);
    EXPECT_EQ(finished.status, 2) << finished.output;
    EXPECT_THAT(finished.output, AllOf(HasSubstr(each.says), HasSubstr("try: draftlab")));
  }
}

TEST_F(CommandLineTest, APathThatCannotBeOneIsToldInOurOwnWords) {
  const std::string sweep = DRAFTLAB_SOURCE_DIR "/sweeps/smoke.json";
  const auto output = [](const std::vector<std::string>& words) {
    const Finished finished = draftlab(words);
    EXPECT_NE(finished.status, 0);
    EXPECT_THAT(finished.output, Not(HasSubstr("filesystem error")));
    EXPECT_LT(finished.output.size(), 1000u);
    return finished.output;
  };
  std::filesystem::create_symlink(path("loop"), path("loop"));
  replace_file(path("file"), "");
  for (const std::string command : {"run", "plan"}) {
    EXPECT_THAT(output({command, sweep, "--out", ""}),
                HasSubstr("--out is empty; give it a value"));
    EXPECT_THAT(output({command, sweep, "--out", std::string(6000, 'x')}), HasSubstr("too long"));
    EXPECT_THAT(output({command, sweep, "--out", path("loop")}), HasSubstr("symbolic links"));
    EXPECT_THAT(output({command, sweep, "--out", path("file")}), HasSubstr("is a file"));
    EXPECT_THAT(output({command, sweep, "--out", path("file") + "/x"}), HasSubstr("is a file"));
  }
  for (const char* command : {"status", "report", "check"})
    EXPECT_THAT(output({command, ""}), HasSubstr("DIR is empty")) << command;
  EXPECT_THAT(output({"run", sweep, "--out", path("o"), "--reuse", ""}),
              HasSubstr("--reuse is empty"));
  for (const std::string command : {"status", "resume", "report", "check"}) {
    output({command, std::string(6000, 'x')});
    output({command, path("loop")});
    output({command, path("file")});
  }
}

TEST_F(CommandLineTest, VersionNamesBuildAndCompiler) {
  const Finished version = draftlab({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.output, StartsWith("draftlab "));
}

TEST_F(CommandLineTest, AFolderWithoutAPlanIsAnError) {
  for (const char* command : {"status", "resume", "report", "check"}) {
    const Finished finished = draftlab({command, path("nothing")});
    EXPECT_EQ(finished.status, 1);
    EXPECT_THAT(finished.output, HasSubstr(path("nothing/plan.json")));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "nothing"));
  }
}

// Each mistake is named by file and key, and nothing is written.
TEST_F(CommandLineTest, ABrokenSweepFileIsRefusedBeforeAnythingIsWritten) {
  const struct {
    const char* key;
    std::function<void(JsonObject&)> mistake;
  } cases[] = {
      {"arm: is not a known key", [](JsonObject& s) { s["arm"] = 1; }},
      {"training.steps: must be a whole number",
       [](JsonObject& s) { s["training"].as_object()["steps"] = "30"; }},
      {"training.warmup: must lie between",
       [](JsonObject& s) { s["training"].as_object()["warmup"] = 2; }},
      {"evaluation.every: must lie between",
       [](JsonObject& s) { s["evaluation"].as_object()["every"] = 0; }},
      {"split: train + tuning + held_out",
       [](JsonObject& s) { s["split"].as_object()["train"] = 1000; }},
      {"seeds: is an empty list", [](JsonObject& s) { s["seeds"] = JsonArray{}; }},
      {"seeds[1]: is the same seed",
       [](JsonObject& s) {
         s["seeds"] = JsonArray{1, 1};
       }},
      {"drafter.hidden_size: is 64, but the target",
       [](JsonObject& s) { s["drafter"].as_object()["hidden_size"] = 64; }},
      {"drafter.layer_types[0]",
       [](JsonObject& s) { s["drafter"].as_object()["layer_types"] = JsonArray{"full"}; }},
      {"arms[1].name: 'AdamW' is also",
       [](JsonObject& s) { s["arms"].at(1).as_object()["name"] = "AdamW"; }},
      {"arms[0].optimizer.kind",
       [](JsonObject& s) { s["arms"].at(0).at("optimizer").as_object()["kind"] = "adam"; }},
      {"arms[0].optimizer.learning_rate: is an empty list",
       [](JsonObject& s) {
         s["arms"].at(0).at("optimizer").as_object()["learning_rate"] = JsonArray{};
       }},
      {"arms[3].routing",
       [](JsonObject& s) { s["arms"].at(3).at("routing").at(0).as_object()["pattern"] = "fx"; }},
      {"store.specification: is empty",
       [](JsonObject& s) { s["store"].as_object()["specification"] = ""; }},
      {"target.metric", [](JsonObject& s) { s["target"].as_object()["metric"] = "speed"; }},
  };
  for (const auto& each : cases) {
    const std::string sweep = write_sweep("broken.json", each.mistake);
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"run", sweep, "--out", path("out")}, {"plan", sweep, "--out", path("out")}}) {
      const Finished finished = draftlab(words);
      EXPECT_EQ(finished.status, 1);
      EXPECT_THAT(finished.output, HasSubstr(sweep + ": " + each.key));
      EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
    }
  }
}

TEST_F(CommandLineTest, ABrokenTextIsRefusedWithItsLine) {
  const struct {
    const char *text, *says;
  } cases[] = {
      {"", "is empty"},
      {"{\n\"name\": \"x\",\n}", "line 3"},
      {"{\"name\": \"x\", \"name\": \"y\"}", "name: this key is given twice"},
      {"[]", "must be an object"},
      {"{\"name\": 1e999}", "name: 1e999"},
  };
  for (const auto& each : cases) {
    replace_file(folder_ / "broken.json", each.text);
    const Finished finished = draftlab({"run", path("broken.json"), "--out", path("out")});
    EXPECT_EQ(finished.status, 1);
    EXPECT_THAT(finished.output, AllOf(HasSubstr(path("broken.json")), HasSubstr(each.says)));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  }
}

TEST_F(CommandLineTest, PlanShowsWhatWouldRunAndWritesNothing) {
  const std::string sweep = write_sweep("smoke.json", [](JsonObject&) {});
  const Finished plan = draftlab({"plan", sweep, "--out", path("out")});
  EXPECT_EQ(plan.status, 0);
  EXPECT_THAT(plan.output,
              AllOf(HasSubstr("runs      10: 4 arms, 2 seeds\n"), HasSubstr("steps     300;"),
                    HasSubstr("to be built from"), HasSubstr("Turbo-Muon, fc by AdamW: 2 runs"),
                    HasSubstr("layers.0.mlp.down_proj.weight")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(CommandLineTest, ChangesOfASweepAreMadeRecordedAndKept) {
  const std::string sweep = write_sweep("s.json", [](JsonObject& sweep) {
    sweep["arms"].as_array().resize(1);
    sweep["seeds"] = JsonArray{1};
  });
  const std::vector<std::string> set = {"--set", "training.steps=4",
                                        "--set", "evaluation.every=2",
                                        "--set", "arms[AdamW].optimizer.learning_rate=0.001"};
  std::vector<std::string> words = {"run", sweep, "--out", path("out"), "--store", store()};
  words.insert(words.end(), set.begin(), set.end());
  const Finished run = draftlab(words);
  ASSERT_EQ(run.status, 0) << run.output;
  const PlanRecord plan = plan_of(path("out"));
  EXPECT_THAT(plan.changes, ElementsAre(set[1], set[3], set[5]));
  ASSERT_EQ(plan.segments.size(), 1u);
  EXPECT_EQ(plan.segments[0].config.training.steps, 4);
  EXPECT_EQ(plan.segments[0].config.optimizer.learning_rate(), 0.001);
  EXPECT_THAT(draftlab({"status", path("out")}).output, HasSubstr("set training.steps=4"));
  EXPECT_THAT(read_file(RunFolder(path("out")).report_page()), HasSubstr("training.steps=4"));
  EXPECT_THAT(draftlab({"resume", path("out")}).output, Not(HasSubstr("has changed")));
  EXPECT_EQ(draftlab(words).status, 0) << "the same command goes on";
  const Finished without = draftlab({"run", sweep, "--out", path("out"), "--store", store()});
  EXPECT_EQ(without.status, 1);
  EXPECT_THAT(without.output, HasSubstr("training.steps: 4 -> 30"));
  const Finished unknown = draftlab({"plan", sweep, "--set", "training.stps=4"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.output, HasSubstr("did you mean"));
}

TEST_F(CommandLineTest, PlanAsJsonHoldsEveryResolvedValue) {
  const std::string sweep = write_sweep("smoke.json", [](JsonObject&) {});
  const Finished plan = draftlab({"plan", sweep, "--json"});
  ASSERT_EQ(plan.status, 0) << plan.output;
  const Json value = parse_json(plan.output, "plan");
  EXPECT_EQ(value.at("runs").as_array().size(), 10u);
  EXPECT_EQ(value.at("segments").at(0).at("config").at("optimizer").at("beta2").as_double(), 0.999);
}

TEST_F(CommandLineTest, NamesCannotSteerTheTerminal) {
  const std::string sweep = write_sweep("smoke.json", [](JsonObject& s) {
    s["name"] = "x\x1b[2Jy";
    s["arms"].at(0).as_object()["name"] = "arm\r\n\x07";
  });
  const Finished plan = draftlab({"plan", sweep});
  EXPECT_EQ(plan.status, 0) << plan.output;
  EXPECT_EQ(std::count_if(plan.output.begin(), plan.output.end(),
                          [](char c) { return c == 0x1b || c == 7 || c == '\r'; }),
            0);
  EXPECT_THAT(plan.output, HasSubstr("x\\x1b[2Jy"));
}

TEST_F(CommandLineTest, ASpecificationWithAMistakeIsNamedByItsOwnFile) {
  replace_file(folder_ / "store.json",
               R"({"name": "x", "target": {"format": "made_up"}, "taps": [0], "mask_token": 0})");
  const std::string sweep = write_sweep(
      "smoke.json", [&](JsonObject& s) { s["store"].as_object()["specification"] = "store.json"; });
  const Finished finished = draftlab({"run", sweep, "--out", path("out")});
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.output, HasSubstr(path("store.json") + ": mask_token"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(CommandLineTest, ASweepThatDoesNotFitOnTheDiskIsRefusedBeforeAnythingIsWritten) {
  const std::string sweep = write_sweep("huge.json", [](JsonObject& s) {
    s["drafter"].as_object()["intermediate_size"] = int64_t{100000000000};
  });
  const Finished run = draftlab({"run", sweep, "--out", path("out")});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, AllOf(HasSubstr(path("out") + ": may need "), HasSubstr(" free; ")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(CommandLineTest, OptimizersListsEveryKindAndConventionWithItsCost) {
  const Finished all = draftlab({"optimizers"});
  EXPECT_EQ(all.status, 0);
  for (const OptimizerKind& kind : optimizer_kinds())
    EXPECT_THAT(all.output, HasSubstr("\n" + kind.name + " "));
  EXPECT_THAT(all.output,
              AllOf(ContainsRegex("\nmuon convention=moonlight +4 +15 +97 +Moonlight"),
                    ContainsRegex("\nturbo_muon +4 +12 +77 "), ContainsRegex("\nadamw +8 +- +- "),
                    Not(HasSubstr("convention=keller_jordan"))));
  const Finished ways = draftlab({"optimizers", "orthogonalizers"});
  EXPECT_EQ(ways.status, 0);
  EXPECT_THAT(ways.output, AllOf(ContainsRegex("\nturbo +aol +4 +12 +77 +max.norm, 1e-07. +Boi"),
                                 ContainsRegex("\ngram_newton_schulz +frobenius +5 +18 +64 ")));
}

TEST_F(CommandLineTest, TheTableOfTheDocumentationIsThatOfTheDeclarations) {
  const Finished table = draftlab({"optimizers", "markdown"});
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(read_file(DRAFTLAB_SOURCE_DIR "/docs/optimizers.md"), HasSubstr(table.output))
      << "paste what `draftlab optimizers markdown` prints";
}

TEST_F(CommandLineTest, OptimizersExplainsOne) {
  const Finished muon = draftlab({"optimizers", "muon"});
  EXPECT_EQ(muon.status, 0);
  EXPECT_THAT(muon.output,
              AllOf(HasSubstr("O = orthogonalize(U)"), HasSubstr("adamw.beta1"),
                    HasSubstr("not where orthogonalizer is exact"),
                    HasSubstr("only where orthogonalizer is\n      polar_express"),
                    HasSubstr("  moonlight: Moonlight"), HasSubstr("momentum_form accumulate"),
                    HasSubstr("  hyperball  "), HasSubstr("only where hyperball is false"),
                    HasSubstr("  momentum  1024 x 4096  mean gradient, decay 0.95\n")));
  const Finished turbo = draftlab({"optimizers", "turbo_muon"});
  EXPECT_THAT(turbo.output, AllOf(ContainsRegex("\n  steps +4 "), Not(HasSubstr("lower_bound"))));
  EXPECT_THAT(draftlab({"optimizers", "polar_express"}).output,
              HasSubstr("muon, normuon, muon_all"));
  const struct {
    const char *name, *says;
  } mistakes[] = {{"sgd", "known: orthogonalizers, markdown, adamw"},
                  {"mouon", "did you mean 'muon'?"},
                  {"aol4_old", "sign flipped"}};
  for (const auto& each : mistakes) {
    const Finished finished = draftlab({"optimizers", each.name});
    EXPECT_EQ(finished.status, 1);
    EXPECT_THAT(finished.output, HasSubstr(each.says));
  }
}

TEST_F(CommandLineTest, PlanShowsSplitsRatesAndTheSizeOfTheState) {
  const std::string sweep = write_sweep("split.json", [](JsonObject& s) {
    s["arms"].at(1).as_object()["routing"] = parse_json(
        R"([{"pattern": "*.self_attn.?_proj.weight", "rule": "matrix", "split": "heads"},
            {"pattern": "layers.0.mlp.up_proj.weight", "rule": "matrix", "split": [32, 16]},
            {"pattern": "norm.weight", "rule": "frozen"}])",
        "test");
  });
  const Finished plan = draftlab({"plan", sweep});
  EXPECT_EQ(plan.status, 0) << plan.output;
  EXPECT_THAT(
      plan.output,
      AllOf(ContainsRegex("layers.0.self_attn.q_proj.weight +32 x 32 +2 x 16 +muon +0.0"),
            ContainsRegex("layers.0.mlp.up_proj.weight +48 x 32 +32.16 +muon +0.02263"),
            ContainsRegex("\n  norm.weight +32 +- +frozen +- +-\n"),
            ContainsRegex("kB of optimizer state; [0-9]+ matrix products, 0.0[0-9]+ GFLOP")));
}

}  // namespace
}  // namespace draftlab
