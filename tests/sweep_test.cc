#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "base/file.h"
#include "base/number_text.h"
#include "record/events.h"
#include "record/lives.h"
#include "record/metrics.h"
#include "record/outcome.h"
#include "runner/worker_lock.h"
#include "source_dir.h"
#include "tests/smoke.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SweepTest : public SmokeTest {};

TEST_F(SweepTest, TheSmokeSweepGoesFromASweepFileToAReport) {
  const std::string sweep = write_sweep("smoke.json", [](JsonObject&) {});
  const Finished run = draftlab({"run", sweep, "--out", path("out dir")});
  ASSERT_EQ(run.status, 0) << run.output;
  const RunFolder folder(path("out dir"));
  EXPECT_THAT(run.output, HasSubstr("report: " + folder.report_page().string()));
  EXPECT_THAT(read_file(folder.report_page()), HasSubstr("Turbo-Muon, fc by AdamW"));
  const std::string csv = read_file(folder.report() / "runs.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 11) << csv;
  EXPECT_TRUE(fs::exists(folder.report() / "evaluations.csv"));
  const Finished status = draftlab({"status", path("out dir")});
  EXPECT_EQ(status.status, 0);
  EXPECT_THAT(status.output, HasSubstr("10 runs: 10 done"));
  // Everything is there: a second run starts no worker, and the report has the same bytes.
  const std::string page = read_file(folder.report_page());
  const Finished again = draftlab({"run", sweep, "--out", path("out dir")});
  EXPECT_EQ(again.status, 0) << again.output;
  EXPECT_THAT(again.output, Not(HasSubstr("start ")));
  EXPECT_THAT(read_events(folder.events()), SizeIs(10));
  EXPECT_EQ(read_file(folder.report_page()), page);
  // Together with a copy of itself it is the same study: a run that both hold counts once.
  fs::copy(folder.root(), path("copy"), fs::copy_options::recursive);
  const Finished both = draftlab({"report", path("out dir"), path("copy"), "--out", path("both"),
                                  "--tensorboard", path("events")});
  EXPECT_EQ(both.status, 0) << both.output;
  EXPECT_EQ(both.output, path("both/index.html") + "\n" + path("events") + "\n");
  EXPECT_EQ(read_file(path("both/arms.csv")), read_file(folder.report() / "arms.csv"));
  EXPECT_EQ(std::distance(fs::directory_iterator(path("events")), fs::directory_iterator()), 10);
  EXPECT_EQ(read_file(folder.report_page()), page);
  const Finished inside = draftlab({"report", path("out dir"), "--out", path("copy/report")});
  EXPECT_EQ(inside.status, 1);
  EXPECT_THAT(inside.output, HasSubstr("lies in the result folder"));
}

// Says that a segment was computed by a build of another commit.
void pretend_other_build(const SegmentFolder& segment) {
  Json provenance = read_json(segment.provenance());
  provenance.at("lives").at(0).as_object()["commit"] = "0ther";
  replace_file(segment.provenance(), pretty(provenance));
}

TEST_F(SweepTest, RunsOfAnotherBuildAreToldAndTrainedAnewOnDemand) {
  const std::string sweep = write_sweep("two.json", [](JsonObject& sweep) {
    sweep["arms"] = JsonArray{sweep["arms"].as_array()[1]};  // Muon, two seeds
  });
  const std::vector<std::string> words = {"run", sweep, "--out", path("out"), "--store", store()};
  ASSERT_EQ(draftlab(words).status, 0);
  const std::string numbers = numbers_of(path("out"));
  EXPECT_THAT(draftlab(words).output, Not(HasSubstr("another build")));
  pretend_other_build(segment_of(path("out"), 1));
  const Finished told = draftlab(words);
  EXPECT_EQ(told.status, 0);
  EXPECT_THAT(told.output, HasSubstr("1 run of 2 is of another build (commit 0ther, now "));
  EXPECT_THAT(told.output, HasSubstr("and is kept: Muon seed=2"));
  EXPECT_THAT(told.output, Not(HasSubstr("start ")));
  std::vector<std::string> again = words;
  again.push_back("--again");
  const Finished anew = draftlab(again);
  EXPECT_EQ(anew.status, 0) << anew.output;
  EXPECT_THAT(anew.output, HasSubstr("1 segment of another build"));
  EXPECT_THAT(read_events(RunFolder(path("out")).events()), SizeIs(3));
  EXPECT_EQ(numbers_of(path("out")), numbers);
  EXPECT_THAT(draftlab(again).output, Not(HasSubstr("start ")));
}

TEST_F(SweepTest, ARunThatWentOnElsewhereKeepsBothLives) {
  const std::string sweep = write_long_sweep("long.json", 1);
  {
    Program run({"run", sweep, "--out", path("out"), "--store", store()});
    wait_for_checkpoint(path("out"), 1);
    run.send(SIGINT);
    run.wait();
  }
  const SegmentFolder segment = segment_of(path("out"), 0);
  Json provenance = read_json(segment.provenance());
  JsonObject& life = provenance.at("lives").at(0).as_object();
  life["commit"] = "0ther";
  life["cpu"] = "the first machine";
  replace_file(segment.provenance(), pretty(provenance));
  ASSERT_EQ(draftlab({"resume", path("out")}).status, 0);
  const std::vector<Life> lives = read_lives(segment.provenance());
  ASSERT_THAT(lives, SizeIs(2));
  EXPECT_EQ(lives[0].machine.cpu, "the first machine");
  EXPECT_EQ(lives[0].first_step, 0);
  EXPECT_GT(lives[1].first_step, 0);
  EXPECT_NE(lives[1].host, "");
  const std::string output = draftlab({"check", path("out")}).output;
  EXPECT_THAT(output, HasSubstr("another machine (cpu the first machine, then "));
  EXPECT_THAT(output, HasSubstr("another build (commit 0ther, then "));
  EXPECT_THAT(output, Not(HasSubstr("bit for bit")));
}

TEST_F(SweepTest, JobsDoNotChangeANumber) {
  const std::string sweep = write_sweep("smoke.json", [](JsonObject&) {});
  const std::string alone = undisturbed(sweep);
  const Finished two =
      draftlab({"run", sweep, "--out", path("two"), "--store", store(), "--jobs", "2"});
  EXPECT_EQ(two.status, 0) << two.output;
  EXPECT_EQ(numbers_of(path("two")), alone);
  const auto events = read_events(RunFolder(path("two")).events());
  bool overlap = false;
  for (size_t i = 1; i < events.size(); ++i) overlap |= events[i].start < events[i - 1].end;
  EXPECT_TRUE(overlap) << "two at once would show here";
}

TEST_F(SweepTest, RunsThatSharedTheMachineAreTimedAloneAfterwards) {
  const std::string sweep = write_sweep("smoke.json", [](JsonObject&) {});
  const std::vector<std::string> command = {"run",     sweep,   "--out",  path("out"),
                                            "--store", store(), "--jobs", "2"};
  Program run(command);
  ASSERT_TRUE(eventually([&] { return run.output().find("4 arms in turn") != std::string::npos; }));
  run.send(SIGINT);
  EXPECT_EQ(run.wait(), 1);
  EXPECT_THAT(run.output(),
              AllOf(HasSubstr("what is not timed or decoded yet will be by: draftlab resume"),
                    HasSubstr("report: "), Not(HasSubstr("not every run"))));
  const RunFolder folder(path("out"));
  const auto timings = [&] {
    std::set<std::string> files;
    for (const PlannedSegment& segment : plan_of(path("out")).segments) {
      const auto file = SegmentFolder(folder, segment.id).timing();
      if (fs::exists(file)) files.insert(file);
    }
    return files;
  };
  const auto other_files = [&] {
    std::map<std::string, std::string> bytes;
    for (const auto& entry : fs::recursive_directory_iterator(folder.segments())) {
      if (entry.is_regular_file() && entry.path().filename() != "timing.json")
        bytes[entry.path()] = read_file(entry.path());
    }
    return bytes;
  };
  EXPECT_THAT(timings(), IsEmpty());
  const auto before = other_files();
  const Finished resume = draftlab({"resume", path("out")});
  EXPECT_EQ(resume.status, 0) << resume.output;
  EXPECT_THAT(timings(), SizeIs(4)) << "AdamW's rates share one\n" << resume.output;
  EXPECT_EQ(other_files(), before);
  EXPECT_THAT(read_file(folder.report_page()), HasSubstr("times the median step timed alone"));
  EXPECT_THAT(draftlab({"resume", path("out")}).output, Not(HasSubstr(" alone: ")));
}

TEST_F(SweepTest, RunsThatWereAloneAreNotTimedAgain) {
  const std::string sweep = write_sweep("smoke.json", [](JsonObject& s) {
    s["seeds"] = JsonArray{1};
    s["arms"].as_array().resize(1);
  });
  const Finished run =
      draftlab({"run", sweep, "--out", path("out"), "--store", store(), "--jobs", "1"});
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, Not(HasSubstr(" alone: ")));
  EXPECT_FALSE(fs::exists(segment_of(path("out"), 0).timing()));
}

TEST_F(SweepTest, EveryLossTrainsAndIsMeasuredAlike) {
  const char* const file = DRAFTLAB_SOURCE_DIR "/sweeps/losses_smoke.json";
  const Finished run = draftlab({"run", file, "--out", path("losses")});
  ASSERT_EQ(run.status, 0) << run.output;
  const RunFolder folder(path("losses"));
  const PlanRecord plan = plan_of(path("losses"));
  std::set<std::string> trained, first;
  for (const PlannedSegment& segment : plan.segments) {
    for (const LossTerm& term : segment.config.training.loss.terms) trained.insert(term.kind);
    const EvaluationRow row =
        read_metrics(SegmentFolder(folder, segment.id).metrics()).evaluations[0];
    EXPECT_THAT(row.expected_acceptance, SizeIs(3));
    EXPECT_THAT(row.top_8_recall, SizeIs(3));
    EXPECT_GE(row.top_8_length, row.acceptance_length);
    EXPECT_THAT(row.tree_lengths, SizeIs(4));
    EXPECT_LE(row.tree_lengths.back(), row.top_8_length);
    first.insert(number_text(row.loss) + " " + number_text(row.expected_acceptance_length));
  }
  EXPECT_EQ(trained.size(), loss_kinds().size()) << "each loss is an arm";
  EXPECT_THAT(first, SizeIs(1)) << "the same weights measure the same, whatever the loss";
  EXPECT_THAT(read_file(folder.report_page()),
              AllOf(HasSubstr("Not all arms train on one loss: cross entropy on ce"),
                    HasSubstr("Training loss differs: ")));
  EXPECT_THAT(read_file(folder.report() / "evaluations.csv"),
              AllOf(HasSubstr("expected_acceptance_length"), HasSubstr("slot_3_top_8_recall"),
                    HasSubstr("top_8_length")));

  // A store without final hidden states is refused before anything runs.
  const Finished refused = draftlab({"plan", write_sweep("kl.json", [](JsonObject& sweep) {
                                       sweep["training"].as_object()["loss"] = "kl";
                                     })});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.output, HasSubstr("training.loss: 'kl' compares with the target's own"));
  EXPECT_THAT(draftlab({"plan", file}).output, HasSubstr("of final hidden states"));
  EXPECT_THAT(draftlab({"store", "show", folder.store().string()}).output,
              HasSubstr("64 bytes a token"));
}

TEST_F(SweepTest, ASwitchSharesWhatIsBeforeItAndAResumedArmEqualsTheUninterruptedOne) {
  const Finished run = draftlab({"run", DRAFTLAB_SOURCE_DIR "/sweeps/switch_smoke.json", "--out",
                                 path("switched"), "--store", store()});
  ASSERT_EQ(run.status, 0) << run.output;
  const PlanRecord plan = plan_of(path("switched"));
  std::map<std::string, std::string> weights;  // at the end, by run
  for (const PlannedRun& planned : plan.runs) {
    const SegmentFolder last(RunFolder(path("switched")), planned.segments.back());
    weights[planned.name] = read_outcome(last.outcome()).value().weights_hash;
  }
  for (const char* seed : {" seed=1", " seed=2"}) {
    EXPECT_EQ(weights.at(std::string("A': AdamW, resumed") + seed),
              weights.at(std::string("A: AdamW") + seed));
    EXPECT_NE(weights.at(std::string("R: AdamW, state zeroed") + seed),
              weights.at(std::string("A: AdamW") + seed));
  }
  EXPECT_THAT(read_events(RunFolder(path("switched")).events()), SizeIs(plan.segments.size()));
  EXPECT_THAT(plan.segments, SizeIs(18)) << "nine for each seed";
  EXPECT_EQ(std::count_if(plan.segments.begin(), plan.segments.end(),
                          [&](const PlannedSegment& each) {
                            const SegmentFolder folder(RunFolder(path("switched")), each.id);
                            return fs::exists(folder.transfer());
                          }),
            10)
      << "each segment with a parent says what became of the optimizer's state";
  // Also at the switch itself, which is a segment's last step in one run and not in the other.
  EXPECT_THAT(read_file(RunFolder(path("switched")).report_page()),
              AllOf(HasSubstr("Verified: resumed at the switch with nothing changed"),
                    Not(HasSubstr("Refused: "))));
}

TEST_F(SweepTest, RecurrentLayersAloneAndBesideAttentionGoFromASweepFileToAReport) {
  const Finished run = draftlab({"run", DRAFTLAB_SOURCE_DIR "/sweeps/gdn_smoke.json", "--out",
                                 path("recurrent"), "--store", store()});
  ASSERT_EQ(run.status, 0) << run.output;
  const PlanRecord plan = plan_of(path("recurrent"));
  EXPECT_THAT(plan.runs, SizeIs(8)) << "two seeds of each arm";
  for (const PlannedSegment& segment : plan.segments) {
    const SegmentFolder folder(RunFolder(path("recurrent")), segment.id);
    EXPECT_EQ(read_outcome(folder.outcome()).value().kind, OutcomeKind::kDone);
    const std::vector<EvaluationRow> rows = read_metrics(folder.metrics()).evaluations;
    ASSERT_GE(rows.size(), 2u);
    EXPECT_LT(rows.back().loss, rows.front().loss - 0.2) << "at the end against step 0";
    for (const Route& route : segment.config.routing) {
      const bool projection = route.name.find("_proj") != std::string::npos;
      if (route.name.find("linear_attn") == std::string::npos || projection) continue;
      EXPECT_EQ(route.rule, "adamw") << route.name;
      EXPECT_EQ(route.weight_decay, 0) << route.name;
    }
  }
  EXPECT_TRUE(fs::exists(RunFolder(path("recurrent")).report_page()));
}

TEST_F(SweepTest, AFailingRunDoesNotStopTheOthers) {
  const std::string sweep = write_sweep("smoke.json", [](JsonObject&) {});
  const Finished plan = draftlab({"plan", sweep, "--store", store(), "--json"});
  const std::string id(parse_json(plan.output, "plan").at("segments").at(1).at("id").as_string());
  // Its worker finds a file where its checkpoints should go.
  const SegmentFolder broken(RunFolder(path("out")), id);
  fs::create_directories(broken.root());
  replace_file(broken.checkpoints(), "not a folder");
  const Finished run = draftlab({"run", sweep, "--out", path("out"), "--store", store()});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, AllOf(HasSubstr("failed "), HasSubstr(broken.log().string())));
  EXPECT_THAT(draftlab({"status", path("out")}).output, HasSubstr("10 runs: 9 done, 1 failed"));
  fs::remove(broken.checkpoints());
  EXPECT_EQ(draftlab({"resume", path("out")}).status, 0);
}

TEST_F(SweepTest, AChangedSweepFileIsToldAndNeverMixedIn) {
  const auto small = [](JsonObject& sweep) {
    sweep["seeds"] = JsonArray{1};
    sweep["arms"].as_array().resize(1);
  };
  const std::string sweep = write_sweep("smoke.json", small);
  ASSERT_EQ(draftlab({"run", sweep, "--out", path("out"), "--store", store()}).status, 0);
  const std::string frozen = read_file(RunFolder(path("out")).plan());
  write_sweep("smoke.json", [&](JsonObject& s) {
    small(s);
    s["training"].as_object()["clip"] = 0.5;
    s["arms"].at(0).at("optimizer").as_object()["beta1"] = 0.8;
  });
  const auto tells = AllOf(HasSubstr("  training.clip: 1 -> 0.5\n"),
                           HasSubstr("  arms[0].optimizer.beta1: (absent) -> 0.8\n"));
  const Finished run = draftlab({"run", sweep, "--out", path("out"), "--store", store()});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, tells);
  const Finished resume = draftlab({"resume", path("out")});
  EXPECT_EQ(resume.status, 0) << resume.output;
  EXPECT_THAT(resume.output, tells);
  EXPECT_EQ(read_file(RunFolder(path("out")).plan()), frozen);
}

TEST_F(SweepTest, ADamagedStoreIsRefusedByShard) {
  const std::string sweep = write_sweep("smoke.json", [](JsonObject& s) {
    s["seeds"] = JsonArray{1};
    s["arms"].as_array().resize(2);
  });
  EXPECT_EQ(draftlab({"store", "verify", store()}).status, 0);
  EXPECT_THAT(draftlab({"store", "show", store()}).output, HasSubstr("made_up"));
  std::string shard;
  for (const auto& entry : fs::directory_iterator(store())) {
    if (entry.path().extension() == ".safetensors") shard = std::max(shard, entry.path().string());
  }
  ASSERT_FALSE(shard.empty());
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-100, std::ios::end);
  const char byte = static_cast<char>(file.get());
  file.seekp(-100, std::ios::end);
  file.put(static_cast<char>(byte ^ 1));
  file.close();
  const std::string name = fs::path(shard).filename().string();
  const Finished verify = draftlab({"store", "verify", store()});
  EXPECT_EQ(verify.status, 1);
  EXPECT_THAT(verify.output, HasSubstr(name));
  const Finished run = draftlab({"run", sweep, "--out", path("out"), "--store", store()});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, AllOf(HasSubstr("failed "), HasSubstr(name)));
}

TEST_F(SweepTest, AStoreOfOtherPromptsInAFileOfTheSameNameIsRefused) {
  Json specification = read_json(DRAFTLAB_SOURCE_DIR "/sweeps/stores/made_up.json");
  specification.at("prompts") = JsonObject{{"file", "prompts.jsonl"}};
  replace_file(path("spec.json"), pretty(specification));
  const auto write_prompts = [&](int64_t first) {
    std::string lines;
    for (int64_t i = 0; i < 40; ++i)
      lines +=
          canonical(JsonObject{{"id", std::to_string(i)}, {"token_ids", JsonArray{first, i, 3}}}) +
          "\n";
    replace_file(path("prompts.jsonl"), lines);
  };
  const std::string sweep = write_sweep("prompts.json", [&](JsonObject& sweep) {
    sweep["store"].as_object()["specification"] = path("spec.json");
  });
  write_prompts(1);
  ASSERT_EQ(draftlab({"store", "build", path("spec.json"), "--out", path("s")}).status, 0);
  EXPECT_EQ(draftlab({"plan", sweep, "--store", path("s")}).status, 0);
  write_prompts(2);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"plan", sweep, "--store", path("s")},
           {"run", sweep, "--out", path("out"), "--store", path("s")}}) {
    const Finished refused = draftlab(words);
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.output,
                AllOf(HasSubstr("prompts.sha256: "), HasSubstr("name another folder")));
  }
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(SweepTest, AnotherSpecificationsStoreIsRefused) {
  Json specification = read_json(DRAFTLAB_SOURCE_DIR "/sweeps/stores/made_up.json");
  specification.at("responses").as_object()["seed"] = 2;
  replace_file(folder_ / "other.json", pretty(specification));
  const std::string sweep = write_sweep(
      "smoke.json", [](JsonObject& s) { s["store"].as_object()["specification"] = "other.json"; });
  const Finished run = draftlab({"run", sweep, "--out", path("out"), "--store", store()});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, AllOf(HasSubstr(store()), HasSubstr("responses.seed: 1 there, 2 here")));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(SweepTest, ResumeRefusesAStoreThatIsNotThePlansOwn) {
  const std::string sweep = write_sweep("smoke.json", [](JsonObject& s) {
    s["seeds"] = JsonArray{1};
    s["arms"].as_array().resize(1);
  });
  ASSERT_EQ(draftlab({"run", sweep, "--out", path("out"), "--store", store()}).status, 0);
  Json specification = read_json(DRAFTLAB_SOURCE_DIR "/sweeps/stores/made_up.json");
  specification.at("responses").as_object()["seed"] = 2;
  replace_file(folder_ / "other.json", pretty(specification));
  fs::remove_all(store());
  ASSERT_EQ(draftlab({"store", "build", path("other.json"), "--out", path("store")}).status, 0);
  const Finished resume = draftlab({"resume", path("out")});
  EXPECT_EQ(resume.status, 1);
  EXPECT_THAT(resume.output, HasSubstr("holds another store"));
}

TEST_F(SweepTest, AMovedFolderWithItsStoreStillResumes) {
  const std::string sweep = write_sweep("smoke.json", [](JsonObject& s) {
    s["seeds"] = JsonArray{1};
    s["arms"].as_array().resize(1);
  });
  ASSERT_EQ(draftlab({"run", sweep, "--out", path("out")}).status, 0);
  fs::rename(folder_ / "out", folder_ / "moved");
  fs::remove(segment_of(path("moved"), 0).outcome());
  EXPECT_EQ(draftlab({"resume", path("moved")}).status, 0);
}

}  // namespace
}  // namespace draftlab
