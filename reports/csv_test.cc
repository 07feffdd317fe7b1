#include "reports/csv.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kRunsHeader[] =
    "run,arm,optimizer,learning_rate,seed,outcome,steps,tokens,train_seconds,optimizer_seconds,"
    "val_loss_first,val_loss_last,acceptance_length_first,acceptance_length_last,steps_to_target,"
    "seconds_to_target,weights_hash,data_seconds,model_seconds,acceptance_length_argmax_first,"
    "acceptance_length_argmax_last,tuning_loss_last,tuning_acceptance_length_last,clipped_share,"
    "alone,peak_memory_bytes,weights_seed,data_seed,noise_seed,optimizer_options,reason\r\n";

Result run_named(const std::string& name) {
  Result r;
  r.run = name;
  r.arm = "AdamW";
  r.optimizer =
      parse_optimizer_config(JsonObject{{"kind", "adamw"}, {"learning_rate", 1e-3}}, "test");
  r.seeds = {1, 1, 1};
  r.config.drafter.block_size = 3;
  return r;
}

EvaluationRow row_at(int64_t step, double loss) {
  EvaluationRow row;
  row.step = step;
  row.tokens = 10 * step;
  row.train_seconds = 0.5;
  row.loss = loss;
  row.acceptance_length = 1.25;
  row.acceptance_length_argmax = 1.5;
  row.acceptance_length_per_prompt = 1.125;
  row.slot_accuracy = {0.2, 0.1};
  row.prefix_share = {0.2, 0.05};
  row.blocks = 100000;
  row.prompts = 36;
  return row;
}

TEST(CsvField, QuotesWhatRfc4180Asks) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
}

TEST(RunsCsv, HasTheFixedHeaderEvenWithoutRuns) { EXPECT_EQ(runs_csv({}), kRunsHeader); }

TEST(RunsCsv, WritesEveryNumberAndLeavesWhatIsUnknownEmpty) {
  Result r = run_named("a, \"b\"");
  r.outcome = "diverged";
  r.steps = 60;
  r.tokens = 9000;
  r.train_seconds = 3.5;
  r.optimizer_seconds = 0.25;
  r.data_seconds = 0.5;
  r.model_seconds = 2.75;
  r.held_out = {row_at(0, 12), row_at(50, std::numeric_limits<double>::quiet_NaN())};
  r.steps_to_target = r.seconds_to_target = INFINITY;
  r.alone = false;
  r.reason = "loss is NaN at step 61";
  const std::string options = csv_field(canonical(to_json(r.optimizer)));
  EXPECT_EQ(runs_csv({r}),
            kRunsHeader +
                std::string("\"a, \"\"b\"\"\",AdamW,adamw,0.001,1,diverged,60,9000,3.5,0.25,12,NaN,"
                            "1.25,1.25,Infinity,Infinity,,0.5,2.75,1.5,1.5,,,0,no,,1,1,1,") +
                options + ",loss is NaN at step 61\r\n");
}

TEST(EvaluationsCsv, HasOneRowPerStepWithTheTuningSplitBesideIt) {
  Result r = run_named("a");
  r.held_out = {row_at(0, 12), row_at(50, 9)};
  r.tuning = {row_at(50, 9.5), row_at(60, 9.25)};
  EXPECT_EQ(evaluations_csv({r}),
            "run,step,tokens,train_seconds,val_loss,acceptance_length,acceptance_length_argmax,"
            "slot_1_accuracy,slot_2_accuracy,prefix_1_share,prefix_2_share,"
            "acceptance_length_per_prompt,blocks,prompts,tuning_loss,tuning_acceptance_length,"
            "tuning_acceptance_length_argmax\r\n"
            "a,0,0,0.5,12,1.25,1.5,0.2,0.1,0.2,0.05,1.125,100000,36,,,\r\n"
            "a,50,500,0.5,9,1.25,1.5,0.2,0.1,0.2,0.05,1.125,100000,36,9.5,1.25,1.5\r\n"
            "a,60,600,0.5,,,,,,,,,,,9.25,1.25,1.5\r\n");
}

TEST(UpdatesCsv, HasOneRowPerKindWithTheGradientsOfTheStepsBefore) {
  Result r = run_named("a, b");
  r.updates = {{50, "fc", "muon", 0.002, 0.04, 0.97, 0.25},
               {50, "norm", "adamw", 0.001, 0.5},
               {60, "fc", "muon", 0, 0, 0.5, 0.5}};
  r.gradients = {{50, 1.5, 0.25, 0.5}};
  EXPECT_EQ(updates_csv({r}),
            "run,arm,seed,step,kind,rule,update_rms,weight_rms,ratio,alignment,deviation,"
            "gradient_norm,clipped_share,schedule\r\n"
            "\"a, b\",AdamW,1,50,fc,muon,0.002,0.04,0.05,0.97,0.25,1.5,0.25,0.5\r\n"
            "\"a, b\",AdamW,1,50,norm,adamw,0.001,0.5,0.002,NaN,NaN,1.5,0.25,0.5\r\n"
            "\"a, b\",AdamW,1,60,fc,muon,0,0,NaN,0.5,0.5,,,\r\n");
}

TEST(EvaluationsCsv, HasOneColumnForEachSlotOfTheLargestBlock) {
  Result small = run_named("small"), large = run_named("large");
  small.held_out = {row_at(0, 12)};
  large.config.drafter.block_size = 4;
  large.held_out = {row_at(0, 12)};
  large.held_out[0].slot_accuracy = large.held_out[0].prefix_share = {0.5, 0.25, 0.125};
  const std::string text = evaluations_csv({small, large});
  EXPECT_THAT(text, HasSubstr("slot_3_accuracy,prefix_1_share"));
  EXPECT_THAT(text, HasSubstr("small,0,0,0.5,12,1.25,1.5,0.2,0.1,,0.2,0.05,,"));
  EXPECT_THAT(text, HasSubstr("large,0,0,0.5,12,1.25,1.5,0.5,0.25,0.125,0.5,0.25,0.125,"));
}

}  // namespace
}  // namespace draftlab
