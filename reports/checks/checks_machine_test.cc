#include "testing/fair_study.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(FairnessTest, F18UnequalMachines) {
  run("Muon", 0).lives[0].machine.cpu = "Y";
  const Findings findings = of("F18");
  ASSERT_THAT(findings, ElementsAre(finding(kWarn, "Cpu differs: X in 5 runs", "Y in Muon")));
  EXPECT_TRUE(findings[0].by_time_only);
  EXPECT_THAT(of("F27"), IsEmpty());
}

TEST_F(FairnessTest, F18ARunThatWentOnOnAnotherMachine) {
  // All runs began on X and went on on Y: no two differ, and yet no second is of one machine.
  for (Result& run : study_.results) {
    run.lives.push_back(run.lives[0]);
    run.lives[1].first_step = 50;
    run.lives[1].machine.cpu = "Y";
  }
  const Findings findings = of("F18");
  EXPECT_THAT(findings, ElementsAre(finding(kWarn, study_.results[0].run + " and 5 more runs",
                                            "another machine (cpu X, then Y)")));
  EXPECT_TRUE(findings[0].by_time_only);
  EXPECT_THAT(of("F27"), IsEmpty());
  for (Result& run : study_.results) {
    run.seconds_from_probe = true;
    run.probe.emplace().steps = {{0, 1, 0, 0, 0}};
  }
  EXPECT_THAT(of("F18"), IsEmpty());
}

TEST_F(FairnessTest, F19AClockWithMoreOnItThanSteps) {
  run("Muon", 0).held_out.back().train_seconds = 12;
  EXPECT_THAT(of("F19"), ElementsAre(finding(kWarn, "is stamped 12.0 s", "took 10.0 s")));
}

TEST_F(FairnessTest, F19StepsThatWaitForData) {
  for (size_t i = 0; i < 3; ++i) run("Muon", i).data_seconds = 3;
  EXPECT_THAT(of("F19"), ElementsAre(finding(kWarn, "Steps of Muon spend 30 % of their time")));
}

TEST_F(FairnessTest, F19PausesOnTheClock) {
  run("Muon", 0).pauses = {{7, 0.7, 0.1}, {40, 0.9, 0.1}};
  EXPECT_THAT(of("F19"), ElementsAre(finding(kWarn, "Step 40 of " + run("Muon", 0).run,
                                             "more than a tenth of the seconds")));
}

TEST_F(FairnessTest, F20SharedMachines) {
  run("Muon", 0).alone = false;
  run("Muon", 1).alone = false;
  run("AdamW", 1).alone.reset();
  EXPECT_THAT(of("F20"), ElementsAre(finding(kWarn, "2 runs shared the machine"),
                                     finding(kInform, "For 1 run nothing records")));
}

TEST_F(FairnessTest, F20IsSilentAboutCompanyWhereStepsWereTimedAlone) {
  for (size_t i = 0; i < 2; ++i) {
    Result& result = run("Muon", i);
    result.alone = false;
    result.seconds_from_probe = true;
    result.probe.emplace();
    result.probe->steps = {{0, 1, 0, 0, 0}, {0, 1.01, 0, 0, 0}, {0, 1.02, 0, 0, 0}};
  }
  EXPECT_THAT(of("F20"), IsEmpty());
  run("Muon", 2).alone = false;
  EXPECT_THAT(of("F20"), ElementsAre(finding(kWarn, "1 run shared the machine")));
}

TEST_F(FairnessTest, F20TimingsThatAreFarApart) {
  Result& result = run("Muon", 0);
  result.alone = false;
  result.seconds_from_probe = true;
  result.probe.emplace();
  result.probe->steps = {{0, 1, 0, 0, 0}, {0, 1.5, 0, 0, 0}, {0, 2, 0, 0, 0}};
  EXPECT_THAT(of("F20"), ElementsAre(finding(kWarn, "quartiles differ: Muon by 33 % of the median",
                                             "Something else used the machine")));
}

TEST_F(FairnessTest, F27UnequalBuilds) {
  run("Muon", 0).lives[0].build["libtorch"] = "2.12.0";
  run("Muon", 1).lives[0].build.erase("commit");
  EXPECT_THAT(of("F27"), ElementsAre(finding(kWarn, "Commit differs: abc in 5 runs", "nothing in"),
                                     finding(kWarn, "Libtorch differs: 2.11.0 in 5 runs")));
  EXPECT_THAT(of("F18"), IsEmpty());
}

TEST_F(FairnessTest, F27ARunThatWentOnWithAnotherBuild) {
  Result& one = run("Muon", 0);
  one.lives.insert(one.lives.begin(), one.lives[0]);
  one.lives[0].build["commit"] = "older";
  EXPECT_THAT(of("F27"),
              ElementsAre(finding(kWarn, one.run, "another build (commit older, then abc)")));
  EXPECT_THAT(of("F18"), IsEmpty());
}

TEST_F(FairnessTest, F28EqualsAnUninterruptedRunOnlyOnOneMachineAndWithOneBuild) {
  Result& one = run("Muon", 0);
  one.resumed = true;
  one.lives.push_back(one.lives[0]);
  EXPECT_THAT(of("F28"), ElementsAre(finding(kInform, one.run, "bit for bit")));
  one.lives[1].machine.vector_instructions = "AVX512";
  EXPECT_THAT(of("F28"), ElementsAre(finding(kWarn, one.run, "another machine or with another")));
  one.lives[1] = one.lives[0];
  one.lives[1].build["commit"] = "def";
  EXPECT_THAT(of("F28"), ElementsAre(finding(kWarn, one.run, "need not be those")));
  one.lives = {one.lives[0]};
  one.lives[0].host = "";
  EXPECT_THAT(of("F28"), ElementsAre(finding(kInform, one.run, "does not say")));
}

TEST_F(FairnessTest, F28ResumedRuns) {
  run("Muon", 0).resumed = true;
  EXPECT_THAT(of("F28"), ElementsAre(finding(kInform, run("Muon", 0).run, "bit for bit")));
  run("Muon", 0).config.training.device = "cuda";
  EXPECT_THAT(of("F28"), ElementsAre(finding(kWarn, run("Muon", 0).run, "on a GPU")));
  run("Muon", 0).resumed = false;
  EXPECT_THAT(of("F28"), IsEmpty());
}

}  // namespace
}  // namespace draftlab
