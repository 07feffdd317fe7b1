#include "reports/pipeline/pipeline_findings.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "reports/pipeline/pipeline_output.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

PipelineSpec story(double rate = 0.08) {
  PipelineSpec spec;
  spec.producers = {{3, rate, {}}};
  spec.queue_capacity = 16;
  spec.batches_per_epoch = 27648;
  spec.epochs = 6;
  spec.optimizers = {{"AdamW", 1 / 0.33, 0, {165888, 165888, 165888}},
                     {"Muon", 1.2 / 0.33, 0, {132710.4, 120000, 150000}}};
  spec.hidden_states = {HiddenStates::kOnline};
  spec.topologies = {{3, 1}};
  return spec;
}

std::string finding(const PipelineSpec& spec, const std::string& about) {
  for (const PipelineFinding& each : pipeline_findings(predict_pipeline(spec))) {
    if (each.about == about) return each.text;
  }
  return "nothing about " + about;
}

TEST(PipelineFindings, SayWhatTheStoryMissed) {
  EXPECT_THAT(finding(story(), "AdamW, online 3-1"),
              AllOf(HasSubstr("The producers set the pace at 0.24 batches/s"),
                    HasSubstr("waits 27.3% of the time"), HasSubstr("comes in 8 days."),
                    HasSubstr("A step may take 37.5% longer at no cost")));
  EXPECT_THAT(finding(story(), "Muon, online 3-1"),
              AllOf(HasSubstr("20% fewer batches, which shorten the time by 20%, in full"),
                    HasSubstr("20% longer steps, which change nothing"),
                    HasSubstr("In all 20% less time (27.7% less to 9.6% less).")));
}

TEST(PipelineFindings, TurnRoundWithTheProducers) {
  const PipelineSpec fast = story(1);
  EXPECT_THAT(
      finding(fast, "AdamW, online 3-1"),
      AllOf(HasSubstr("The consumer sets the pace at 0.33 batches/s"),
            HasSubstr("the producers could give 3 and wait 89% of the time"),
            HasSubstr("A 1% longer step costs 1% of that time"), Not(HasSubstr("no cost"))));
  EXPECT_THAT(finding(fast, "Muon, online 3-1"),
              AllOf(HasSubstr("20% longer steps, which cost 16%"), HasSubstr("In all 4% less time"),
                    HasSubstr("with AdamW at a step 4.2% longer than its own")));
}

TEST(PipelineFindings, TurnRoundWithTheBatches) {
  PipelineSpec spec = story();
  spec.optimizers[1].batches_to_target = {199065.6, 199065.6, 199065.6};
  EXPECT_THAT(finding(spec, "Muon, online 3-1"),
              AllOf(HasSubstr("20% more batches, which lengthen the time by 20%, in full"),
                    HasSubstr("In all 20% more time. No step is short enough to come even.")));
  EXPECT_THAT(finding(spec, "first to the target"), HasSubstr("online 3-1: AdamW."));
  EXPECT_THAT(finding(story(), "first to the target"), HasSubstr("online 3-1: Muon."));
}

TEST(PipelineFindings, NameNoFirstWhereIntervalsMeet) {
  PipelineSpec spec = story();
  spec.optimizers[1].batches_to_target.high = 170000;
  EXPECT_THAT(finding(spec, "first to the target"),
              HasSubstr("online 3-1: AdamW or Muon (several where their intervals meet)."));
}

TEST(PipelineFindings, CompareCachedWithOnlineAndTopologies) {
  PipelineSpec spec = story();
  spec.hidden_states = {HiddenStates::kOnline, HiddenStates::kCached};
  spec.store.rate = 1.2;
  spec.topologies = {{3, 1}, {2, 2}};
  EXPECT_THAT(finding(spec, "AdamW"),
              AllOf(HasSubstr("Cached takes 22.7% less time than online"),
                    HasSubstr("A 1% longer step costs 0% online and 0.78% cached"),
                    HasSubstr("1% fewer batches save 1% online and 0.94% cached")));
  EXPECT_THAT(finding(spec, "AdamW, online"), HasSubstr("3-1 8 days; 2-2 12 days (+50%)"));
  EXPECT_THAT(finding(spec, "AdamW, cached"), HasSubstr(": 2-2 4.4"));
  EXPECT_THAT(finding(spec, "Muon, cached 3-1"), Not(HasSubstr("in full")));
  spec.store.rate = 0.2;  // now it is the cache that is slow
  EXPECT_THAT(finding(spec, "AdamW"), HasSubstr("more time than online"));
}

TEST(PipelineFindings, SayWhereTheTargetLiesBeyondThePlan) {
  PipelineSpec spec = story();
  EXPECT_THAT(finding(spec, "Muon, online 3-1"), Not(HasSubstr("planned")));
  spec.optimizers[1].batches_to_target.high = std::numeric_limits<double>::infinity();
  EXPECT_THAT(finding(spec, "Muon, online 3-1"),
              AllOf(HasSubstr("6.4 days (5.79 days to never); the interval ends beyond the 165,888 "
                              "planned batches."),
                    HasSubstr("(27.7% less to never)")));
  spec.epochs = 3;
  EXPECT_THAT(finding(spec, "AdamW, online 3-1"),
              HasSubstr("comes in 8 days, beyond the 82,944 planned batches."));
}

TEST(PipelineFindings, SayWhereTheNumbersAreOnlyABound) {
  PipelineSpec spec = story();
  spec.producers[0].times = {ServiceTimes::kLognormal, 0.5};
  EXPECT_THAT(finding(spec, "AdamW, online 3-1"),
              AllOf(HasSubstr("comes in no less than 8 days"), HasSubstr("these are limits")));
}

TEST(PipelineFindings, NumbersAreShort) {
  EXPECT_EQ(pipeline_time_text(90), "90 s");
  EXPECT_EQ(pipeline_time_text(5400), "90 minutes");
  EXPECT_EQ(pipeline_time_text(90000), "25 hours");
  EXPECT_EQ(pipeline_time_text(691200), "8 days");
  EXPECT_EQ(pipeline_time_text(std::numeric_limits<double>::infinity()), "never");
  EXPECT_EQ(pipeline_interval_text({7, 86400 * 3, 86400 * 5.5}), "3 to 5.5 days");
  EXPECT_EQ(pipeline_interval_text({7, 90, 1800}), "90 s to 30 minutes");
  EXPECT_EQ(share_text(0.33 / 0.24 - 1), "37.5%");
  EXPECT_EQ(share_text(-1e-12), "0%");
  EXPECT_EQ(share_text(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(percent_text(0.7843), "0.78%");
  EXPECT_EQ(short_number(0.24000001), "0.24");
}

TEST(PipelineOutput, HoldsEveryCasePhaseAndWindow) {
  PipelineSpec spec = story();
  spec.optimizers[1].name = "Muon, \"new\"";
  spec.hidden_states = {HiddenStates::kOnline, HiddenStates::kCached};
  spec.store.rate = 1.2;
  spec.bytes_per_batch = 1e6;
  spec.simulation.batches = 1000;
  const std::vector<PipelineCase> cases = predict_pipeline(spec);
  std::vector<SimulatedCase> simulated;
  for (const PipelineCase& c : cases) simulated.push_back(simulate(c, spec.simulation));
  const Json json = parse_json(pretty(pipeline_json(spec, cases, simulated)), "json");
  ASSERT_EQ(json.at("cases").as_array().size(), 4u);
  EXPECT_EQ(json_number(json.at("full_queue_bytes"), ""), 16e6);
  const Json& phase = json.at("cases").at(2).at("phases").at(1);
  EXPECT_EQ(phase.at("source").as_string(), "store");
  EXPECT_EQ(phase.at("batches").as_string(), "Infinity");
  EXPECT_NEAR(json_number(phase.at("simulated").at("mean_queue").at("value"), ""), 16, 1e-9);
  const std::string csv = pipeline_csv(cases, simulated);
  // Two online phases and four cached ones of 20 windows, and the header.
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6 * 20 + 1);
  EXPECT_THAT(csv, HasSubstr("\r\ncached,3,1,\"Muon, \"\"new\"\"\",2,store,20,no,"));
}

}  // namespace
}  // namespace draftlab
