#include "reports/tables/exported_study.h"

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "reports/checks/checked_study.h"
#include "reports/tables/jobs.h"
#include "reports/tables/study_record.h"
#include "reports/tables/tables.h"
#include "testing/synthetic_folder.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The files that are read, and those that follow.
std::map<std::string, std::string> tables_of(const Study& study) {
  return {{"study.json", study_record(study)},
          {"runs.csv", runs_csv(study.results)},
          {"evaluations.csv", evaluations_csv(study.results)},
          {"updates.csv", updates_csv(study.results)},
          {"jobs.csv", jobs_csv(jobs(study))},
          {"arms.csv", arms_csv(study)},
          {"pairs.csv", pairs_csv(study)},
          {"checks.csv", checks_csv(study)},
          {"trials.csv", trials_csv(study.summary)},
          {"best_of.csv", best_of_csv(study.summary)}};
}

class ExportedStudy : public ::testing::Test {
 protected:
  ExportedStudy() : root_(scratch_folder("exported")) {}
  ~ExportedStudy() override { fs::remove_all(root_); }

  void write(const std::map<std::string, std::string>& tables) {
    fs::create_directories(root_ / "tables");
    for (const auto& [name, text] : tables) replace_file(root_ / "tables" / name, text);
  }
  fs::path tables() const { return root_ / "tables"; }

  std::map<std::string, std::string> exported(const SyntheticSweep& sweep,
                                              const std::vector<SyntheticEnd>& ends = {}) {
    auto tables = tables_of(checked_study(write_synthetic_folder(root_ / "run", sweep, ends)));
    write(tables);
    return tables;
  }

  // What reading says of the tables of a small sweep with one of them changed.
  std::string told(const std::string& name, const std::function<void(std::string&)>& change) {
    SyntheticSweep sweep;
    sweep.arms = {{"AdamW", "adamw", {1e-3}, {1.3}}};
    sweep.seeds = 1;
    auto tables = exported(sweep);
    change(tables.at(name));
    write(tables);
    try {
      read_exported_study(this->tables());
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  }

  fs::path root_;
};

void replace(std::string& text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  ASSERT_NE(at, text.npos) << what;
  text.replace(at, what.size(), by);
}

TEST_F(ExportedStudy, IsExportedAgainAsItWas) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  sweep.tuning = 8;
  sweep.in_company = true;
  const auto tables = exported(sweep);
  fs::remove_all(root_ / "run");
  EXPECT_EQ(tables_of(read_exported_study(this->tables())), tables);
}

TEST_F(ExportedStudy, KeepsRunsThatDidNotEndWell) {
  const auto tables = exported(SyntheticSweep::of_four(),
                               {{synthetic_run("AdamW", 1e-3, 1), "diverged", "loss is NaN"},
                                {synthetic_run("AdamW", 1e-3, 2), "failed", "=no, \"memory\""},
                                {synthetic_run("AdamW", 1e-3, 3), "not started", ""}});
  EXPECT_EQ(tables_of(read_exported_study(this->tables())), tables);
}

TEST_F(ExportedStudy, KeepsFoldersOfOlderVersionsAsTheyAre) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  sweep.updates = false;
  const auto tables = exported(sweep);
  EXPECT_EQ(tables_of(read_exported_study(this->tables())), tables);
}

TEST_F(ExportedStudy, KeepsWhatOnlySomeRunsRecord) {
  Study study = checked_study(write_synthetic_folder(root_ / "run", SyntheticSweep::of_four()));
  EvaluationRow& row = study.results.front().held_out.back();
  const size_t slots = row.slot_accuracy.size();
  for (auto* values :
       {&row.expected_acceptance, &row.top_2_recall, &row.top_4_recall, &row.top_8_recall})
    values->assign(slots, 0.5);
  row.expected_acceptance_length = 1.25;
  row.top_8_length = 1.5;
  row.tree_lengths = {1.1, 1.2, 1.3, 1.4};
  const auto tables = tables_of(study);
  write(tables);
  EXPECT_EQ(tables_of(read_exported_study(this->tables())), tables);
}

TEST_F(ExportedStudy, OfSeveralFoldersIsOneStudyStill) {
  SyntheticSweep sweep;
  sweep.arms = {{"AdamW", "adamw", {1e-3}, {1.3}}};
  const RunFolder a = write_synthetic_folder(root_ / "a", sweep);
  sweep.arms = {{"AdamW", "adamw", {2e-3}, {1.4}}, {"Muon", "muon", {0.02}, {1.5}}};
  const RunFolder b = write_synthetic_folder(root_ / "b", sweep);
  const auto tables = tables_of(checked_study({a, b}));
  write(tables);
  EXPECT_EQ(tables_of(read_exported_study(this->tables())), tables);
}

TEST_F(ExportedStudy, TellsNoPathOfTheMachine) {
  const auto tables = exported(SyntheticSweep::of_four());
  EXPECT_EQ(tables.at("study.json").find(root_.string()), std::string::npos);
}

TEST_F(ExportedStudy, NamesFileRowAndColumnOfADamagedNumber) {
  EXPECT_THAT(
      told("evaluations.csv", [](std::string& text) { replace(text, ",0,0,0,", ",0,0,1.5.2,"); }),
      AllOf(HasSubstr("evaluations.csv, row 2, column train_seconds"), HasSubstr("1.5.2")));
}

TEST_F(ExportedStudy, RefusesAValueThatTheRestDoesNotBearOut) {
  // A derived column, which nothing reads.
  EXPECT_THAT(told("runs.csv", [](std::string& text) { replace(text, ",adamw,", ",muon,"); }),
              AllOf(HasSubstr("runs.csv, row 2, column optimizer"), HasSubstr("'muon'")));
}

TEST_F(ExportedStudy, RefusesUnknownMissingAndDoubleColumns) {
  const auto header = [](const std::string& from, const std::string& to) {
    return [=](std::string& text) { replace(text, from, to); };
  };
  EXPECT_THAT(told("jobs.csv", header("threads", "cores")),
              AllOf(HasSubstr("jobs.csv"), HasSubstr("no column 'threads'")));
  EXPECT_THAT(told("runs.csv", header("val_loss_first", "val_los")),
              AllOf(HasSubstr("runs.csv"), HasSubstr("column 'val_los' is unknown")));
  EXPECT_THAT(told("updates.csv", header("rule", "kind")),
              AllOf(HasSubstr("updates.csv"), HasSubstr("column 'kind' is there twice")));
}

TEST_F(ExportedStudy, RefusesATableThatWasCut) {
  EXPECT_THAT(told("updates.csv", [](std::string& text) { text.resize(text.size() - 4); }),
              AllOf(HasSubstr("updates.csv, row "), HasSubstr("does not end")));
  EXPECT_THAT(told("evaluations.csv",
                   [](std::string& text) { text.erase(text.rfind("\r\n", text.size() - 3) + 2); }),
              AllOf(HasSubstr("evaluations.csv"), HasSubstr(" rows, not ")));
}

TEST_F(ExportedStudy, RefusesUnknownKeysAndRunsOfAnotherPlan) {
  EXPECT_THAT(
      told("study.json", [](std::string& text) { replace(text, "\"resumed\"", "\"summed\""); }),
      AllOf(HasSubstr("study.json"), HasSubstr("resumed")));
  EXPECT_THAT(
      told("study.json", [](std::string& text) { replace(text, "\"run\": \"A", "\"run\": \"B"); }),
      AllOf(HasSubstr("runs[0].run"), HasSubstr("as in the plan")));
}

TEST_F(ExportedStudy, NamesAMissingTable) {
  exported(SyntheticSweep::of_four());
  fs::remove(tables() / "updates.csv");
  EXPECT_THROW(
      {
        try {
          read_exported_study(tables());
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("updates.csv"));
          throw;
        }
      },
      Error);
}

TEST_F(ExportedStudy, SaysWhatTablesOfAnOlderVersionLack) {
  exported(SyntheticSweep::of_four());
  fs::remove(tables() / "study.json");
  try {
    result_or_exported_study(tables());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no study.json"));
  }
}

}  // namespace
}  // namespace draftlab
