#include "reports/tables/tables.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

#include "reports/checks/checked_study.h"
#include "reports/checks/fairness.h"
#include "reports/study/acceptance_summary.h"
#include "reports/study/comparison.h"
#include "reports/text/csv.h"
#include "testing/synthetic_folder.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kRunsHeader[] =
    "run,arm,optimizer,learning_rate,seed,phase,outcome,steps,tokens,train_seconds,"
    "optimizer_seconds,val_loss_first,val_loss_last,acceptance_length_first,"
    "acceptance_length_last,steps_to_target,tokens_to_target,seconds_to_target,weights_hash,"
    "data_seconds,model_seconds,acceptance_length_argmax_first,acceptance_length_argmax_last,"
    "tuning_loss_last,tuning_acceptance_length_last,clipped_share,alone,seconds_from_timing,"
    "peak_memory_bytes,weights_seed,data_seed,noise_seed,optimizer_options,reason,folder,"
    "unlabelled_steps,setting,sequences,epochs,"
    "tokens_per_pass,decoding_speed_up,decoded_tokens_per_second\r\n";

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
  r.phase = kTrial;
  r.seeds = {4, 5, 6};
  r.steps_to_target = 40;
  r.tokens_to_target = 6000;
  r.seconds_to_target = INFINITY;
  r.alone = false;
  r.reason = "loss is NaN at step 61";
  r.config.training.sequences_per_step = 8;
  r.config.split.train = 120;
  const std::string options = csv_field(canonical(to_json(r.optimizer)));
  EXPECT_EQ(runs_csv({r}),
            kRunsHeader +
                std::string("\"a, \"\"b\"\"\",AdamW,adamw,0.001,\"weights 4, data 5, noise "
                            "6\",trial,diverged,60,9000,3.5,0.25,12,NaN,"
                            "1.25,1.25,40,6000,Infinity,,0.5,2.75,1.5,1.5,,,0,no,no,,4,5,6,") +
                options + ",loss is NaN at step 61,,0,,480,4,,,\r\n");
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

TEST(UpdatesCsv, HasTheSpectraWhereSomeRunHasThem) {
  Result r = run_named("a");
  r.updates = {{50, "fc", "muon", 0.002, 0.04, 0.97, 0.25}, {60, "fc", "muon", 0.002, 0.04, 1, 0}};
  r.updates[1].weight_spectrum = {0, 1, 2, 3, 4};
  r.updates[1].weight_stable_rank = 2.5;
  EXPECT_EQ(updates_csv({r}),
            "run,arm,seed,step,kind,rule,update_rms,weight_rms,ratio,alignment,deviation,"
            "gradient_norm,clipped_share,schedule,weight_sigma_0,weight_sigma_25,weight_sigma_50,"
            "weight_sigma_75,weight_sigma_100,weight_stable_rank\r\n"
            "a,AdamW,1,50,fc,muon,0.002,0.04,0.05,0.97,0.25,,,,,,,,,\r\n"
            "a,AdamW,1,60,fc,muon,0.002,0.04,0.05,1,0,,,,0,1,2,3,4,2.5\r\n");
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

TEST(EvaluationsCsv, HasRecallAndTreesWhereSomeRunKnowsThem) {
  Result older = run_named("older"), newer = run_named("newer");
  older.held_out = {row_at(0, 12)};
  EXPECT_THAT(evaluations_csv({older}), Not(HasSubstr("top_")));
  newer.held_out = {row_at(0, 12)};
  newer.held_out[0].top_2_recall = {0.25, 0.125};
  newer.held_out[0].top_4_recall = {0.375, 0.3125};
  newer.held_out[0].top_8_recall = {0.5, 0.4375};
  newer.held_out[0].top_8_length = 1.75;
  newer.held_out[0].tree_lengths = {1.375, 1.4375, 1.5625, 1.625};
  const std::string text = evaluations_csv({older, newer});
  EXPECT_THAT(
      text, HasSubstr(",slot_1_top_2_recall,slot_2_top_2_recall,slot_1_top_4_recall,"
                      "slot_2_top_4_recall,slot_1_top_8_recall,slot_2_top_8_recall,"
                      "top_8_length,tree_8_length,tree_16_length,tree_32_length,tree_64_length,"));
  EXPECT_THAT(text,
              HasSubstr(",0.25,0.125,0.375,0.3125,0.5,0.4375,1.75,1.375,1.4375,1.5625,1.625,"));
  EXPECT_THAT(text, HasSubstr("older,0,0,0.5,12,1.25,1.5,0.2,0.1,0.2,0.05,,,,,,,,,,,,"));
}

// A table read back: each row by the names of its columns.
using Row = std::map<std::string, std::string>;

std::vector<Row> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines(1, {""});
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string& field = lines.back().back();
    if (text[i] == '"') {
      if (quoted && text.compare(i, 2, "\"\"") == 0)
        field += text[i++];
      else
        quoted = !quoted;
    } else if (!quoted && text[i] == ',') {
      lines.back().emplace_back();
    } else if (!quoted && text.compare(i, 2, "\r\n") == 0) {
      if (++i + 1 < text.size()) lines.push_back({""});
    } else {
      field += text[i];
    }
  }
  std::vector<Row> rows;
  for (size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].size(), lines[0].size());
    rows.emplace_back();
    for (size_t k = 0; k < lines[i].size(); ++k) rows.back()[lines[0][k]] = lines[i][k];
  }
  return rows;
}

std::string text_of(double number) {
  std::string text;
  add_csv_field(number, text);
  return text;
}

// The tables of a study as it is loaded, against the functions that the page calls.
class StudyTablesTest : public ::testing::Test {
 protected:
  StudyTablesTest() : root_(scratch_folder("draftlab_tables_test")) {
    std::filesystem::remove_all(root_);
  }
  ~StudyTablesTest() override { std::filesystem::remove_all(root_); }
  Study load(const std::vector<SyntheticEnd>& ends = {}) {
    return checked_study(write_synthetic_folder(root_, SyntheticSweep::of_four(), ends));
  }
  std::filesystem::path root_;
};

TEST_F(StudyTablesTest, ArmsHaveTheNumbersOfTheirShownSetting) {
  const Study study = load({{synthetic_run("Muon", 1e-2, 3), "diverged", "NaN"}});
  const std::vector<Row> rows = read_csv(arms_csv(study));
  ASSERT_THAT(rows, SizeIs(4));
  for (size_t i = 0; i < rows.size(); ++i) {
    const Arm& arm = study.summary.arms[i];
    const Setting& setting = *arm.chosen();
    const Setting& reference = *study.summary.arms[0].chosen();
    Row row = rows[i];
    EXPECT_EQ(row["arm"], arm.name);
    EXPECT_EQ(row["reference"], i == 0 ? "yes" : "no");
    EXPECT_EQ(row["setting"], setting.label);
    EXPECT_EQ(row["n"], std::to_string(setting.finished.size()));
    const Estimate& length = at_end(setting, Measure::kAcceptanceLength).estimate;
    EXPECT_EQ(row["acceptance_length"], text_of(length.mean));
    EXPECT_EQ(row["acceptance_length_sd"], text_of(length.sd));
    EXPECT_EQ(row["acceptance_length_low"], text_of(length.low));
    EXPECT_EQ(row["val_loss_at_equal_seconds_high"],
              text_of(at_equal_seconds(setting, Measure::kLoss).estimate.high));
    EXPECT_EQ(row["pooled"], text_of(acceptance_of(setting).pooled.value));
    EXPECT_EQ(row["prompts"], "36");
    EXPECT_EQ(row["target_reached"], std::to_string(setting.target.reached));
    EXPECT_EQ(row["tokens_to_target"], text_of(setting.target.tokens));
    EXPECT_EQ(row["seconds_speedup"],
              text_of(speedup_at_target(reference, setting, Clock::kSeconds).ratio));
    EXPECT_EQ(row["seconds_per_step"], text_of(setting.seconds_per_step.estimate.mean));
  }
}

TEST_F(StudyTablesTest, AnArmWithoutAFinishedRunHasARowWithItsCountsAndNoMeans) {
  std::vector<SyntheticEnd> ends;
  for (double rate : {5e-3, 1e-2, 2e-2}) {
    for (int64_t seed : {1, 2, 3})
      ends.push_back({synthetic_run("Muon", rate, seed), seed == 1 ? "failed" : "diverged", ""});
  }
  std::vector<Row> rows = read_csv(arms_csv(load(ends)));
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_EQ(rows[1]["arm"], "Muon");
  EXPECT_EQ(rows[1]["n"], "0");
  EXPECT_EQ(rows[1]["runs"], "9");
  EXPECT_EQ(rows[1]["diverged"], "6");
  EXPECT_EQ(rows[1]["target_reached"], "0");
  for (const char* column : {"setting", "val_loss", "pooled", "steps_speedup", "train_seconds"})
    EXPECT_EQ(rows[1][column], "") << column;
}

TEST_F(StudyTablesTest, EveryPairOfArmsIsThereAtBothViewsOfBothMeasures) {
  const Study study = load();
  const std::vector<Row> rows = read_csv(pairs_csv(study));
  ASSERT_THAT(rows, SizeIs(4 * 6));
  size_t i = 0;
  for (Measure measure : {Measure::kAcceptanceLength, Measure::kLoss}) {
    for (View view : {View::kEqualSteps, View::kEqualSeconds}) {
      for (const Comparison& comparison : comparisons(study, measure, view)) {
        Row row = rows[i++];
        EXPECT_EQ(row["measure"], kind_of(measure).key);
        EXPECT_EQ(row["at"], view == View::kEqualSteps ? "equal steps" : "equal seconds");
        EXPECT_EQ(row["a"] + row["b"], comparison.a->name + comparison.b->name);
        EXPECT_EQ(row["n"], "3");
        EXPECT_EQ(row["difference"], text_of(comparison.difference.mean));
        EXPECT_EQ(row["low"], text_of(comparison.difference.low));
        EXPECT_EQ(row["p"], text_of(comparison.p));
        EXPECT_EQ(row["adjusted_p"], text_of(comparison.adjusted_p));
        EXPECT_EQ(row["claimed"], comparison.claimed() ? "yes" : "no");
        EXPECT_EQ(row["verdict"], verdict(comparison, measure));
        EXPECT_EQ(row["asked"], comparison.asked ? "yes" : "no");
        EXPECT_EQ(row["claim_low"], text_of(comparison.interval.low));
      }
    }
  }
  Row first = rows[0];  // AdamW and Muon: t is the mean over its standard error
  EXPECT_NEAR(std::stod(first["t"]),
              std::stod(first["difference"]) / (std::stod(first["sd"]) / std::sqrt(3.0)), 1e-9);
  EXPECT_EQ(first["verdict"], "Muon is better");
  EXPECT_EQ(Row(rows[6])["verdict"], "no claim: F12 refuses");
}

TEST_F(StudyTablesTest, TheBestOfKSettingsStandsWithItsCost) {
  const Study study = load();
  const std::vector<Row> rows = read_csv(best_of_csv(study.summary));
  size_t i = 0;
  for (const Arm& arm : study.summary.arms) {
    const std::vector<double> values = trial_values(arm, study.summary.chosen_by);
    const std::vector<double> best = expected_best(values, false);
    for (size_t k = 1; k <= best.size(); ++k, ++i) {
      Row row = rows[i];
      EXPECT_EQ(row["arm"], arm.name);
      EXPECT_EQ(row["k"], std::to_string(k));
      EXPECT_EQ(row["expected_best"], text_of(best[k - 1]));
      const double all = trial_seconds(arm);
      EXPECT_NEAR(std::stod(row["train_seconds"]),
                  all * static_cast<double>(k) / static_cast<double>(best.size()), 1e-9 * all);
    }
    // The best of all is the one that was chosen.
    EXPECT_NEAR(best.back(), deciding(*arm.chosen_trial(), study.summary.chosen_by).estimate.mean,
                1e-12);
  }
  EXPECT_EQ(i, rows.size());
}

TEST_F(StudyTablesTest, EveryCheckHasARowWhateverItFound) {
  const Study study = load();
  std::map<std::string, std::vector<std::string>> verdicts;
  std::vector<std::string> sentences;
  for (Row& row : read_csv(checks_csv(study))) {
    verdicts[row["id"]].push_back(row["verdict"]);
    if (row["verdict"] == severity_name(Severity::kInform) ||
        row["verdict"] == severity_name(Severity::kWarn) ||
        row["verdict"] == severity_name(Severity::kRefuse)) {
      sentences.push_back(row["sentence"]);
    }
  }
  EXPECT_THAT(verdicts, SizeIs(check_kinds().size()));
  EXPECT_EQ(verdicts["F17"], std::vector<std::string>{"cannot happen"});
  EXPECT_EQ(verdicts["F09"], std::vector<std::string>{"passes"});
  EXPECT_EQ(verdicts["F12"], std::vector<std::string>{"refuses"});
  ASSERT_THAT(sentences, SizeIs(study.findings.size()));
  for (size_t i = 0; i < sentences.size(); ++i) EXPECT_EQ(sentences[i], study.findings[i].sentence);
}

TEST_F(StudyTablesTest, EveryTriedSettingIsThereAndOneOfEachArmIsChosen) {
  const Study study = load({{synthetic_run("AdamW", 4e-3, 2), "diverged", "NaN"}});
  const std::vector<Row> rows = read_csv(trials_csv(study.summary));
  ASSERT_THAT(rows, SizeIs(4 + 3 + 3 + 3));
  std::map<std::string, std::string> chosen;
  for (Row row : rows) {
    if (row["chosen"] == "yes") chosen[row["arm"]] += row["learning_rate"];
    EXPECT_EQ(row["measure"], "acceptance_length");
    EXPECT_EQ(row["split"], "held_out");
  }
  EXPECT_THAT(chosen, ::testing::ElementsAre(::testing::Pair("AdamW", "0.001"),
                                             ::testing::Pair("Muon", "0.01"),
                                             ::testing::Pair("NorMuon", "0.01"),
                                             ::testing::Pair("Turbo-Muon", "0.01")));
  Row largest = rows[3];
  EXPECT_EQ(largest["learning_rate"], "0.004");
  EXPECT_EQ(largest["n"], "2");
  EXPECT_EQ(largest["runs"], "3");
  EXPECT_EQ(largest["diverged"], "1");
}

}  // namespace
}  // namespace draftlab
