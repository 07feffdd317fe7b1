#include "reports/page/report.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <locale>
#include <map>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "reports/page/sections.h"
#include "testing/synthetic_folder.h"

namespace draftlab {
namespace {

// Names and reasons that would break out of HTML, attributes, SVG or CSV if they were not escaped.
constexpr char kHostile[] = "</script><b onmouseover=\"x\">'&amp;";

// A page is too long to be printed by a matcher.
bool has(const std::string& page, const std::string& text) {
  return page.find(text) != std::string::npos;
}

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() : root_(scratch_folder("draftlab_report_test")) {
    std::filesystem::remove_all(root_);
  }
  ~ReportTest() override { std::filesystem::remove_all(root_); }

  // Writes folder and report; returns the page.
  std::string report(const SyntheticSweep& sweep, const std::vector<SyntheticEnd>& ends = {}) {
    std::filesystem::remove_all(root_);
    const RunFolder folder = write_synthetic_folder(root_, sweep, ends);
    write_report(folder);
    return read_file(folder.report_page());
  }

  // Every file of the report by its name.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(RunFolder(root_).report()))
      files[entry.path().filename()] = read_file(entry.path());
    return files;
  }

  std::filesystem::path root_;
};

SyntheticSweep hostile_sweep() {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  sweep.name = kHostile;
  sweep.arms[2].name = std::string("Nor") + kHostile;
  return sweep;
}

std::vector<SyntheticEnd> bad_ends(const SyntheticSweep& sweep) {
  return {{synthetic_run("AdamW", 4e-3, 2), "diverged", "loss is NaN at step 61"},
          {synthetic_run("Muon", 2e-2, 3), "failed", kHostile},
          {synthetic_run("Muon", 5e-3, 1), "unfinished", ""},
          {synthetic_run(sweep.arms[2].name, 1e-2, 2), "broken", ""},
          {synthetic_run("Turbo-Muon", 2e-2, 1), "not started", ""}};
}

TEST_F(ReportTest, HasEverySectionOnceAndItsNumbers) {
  const std::string page = report(SyntheticSweep::of_four());
  for (const char* id :
       {"fairness", "answer", "trials",  "acceptance", "values",      "curves",    "rates",
        "target",   "slots",  "updates", "seconds",    "routing",     "options",   "setup",
        "cost",     "jobs",   "runs",    "excluded",   "definitions", "provenance"}) {
    const std::string opening = "<section id=\"" + std::string(id) + "\">";
    const size_t at = page.find(opening);
    ASSERT_NE(at, std::string::npos) << id;
    EXPECT_EQ(page.find(opening, at + 1), std::string::npos) << id;
  }
  EXPECT_TRUE(has(page, "SmolLM2-135M-Instruct, llama, 30 layers"));
  EXPECT_TRUE(has(page, "240 sequences, 31,200 tokens (21,120 of responses)"));
  EXPECT_TRUE(has(page, "2,103,680 trained parameters"));
  EXPECT_TRUE(has(page, "1.398"));                            // NorMuon at its best rate
  EXPECT_TRUE(has(page, "<td class=\"number\">1.180</td>"));  // bigram chain
  EXPECT_TRUE(has(page,
                  "<code>optimizer.learning_rate</code></th><td>0.001 (of 5e-04, 0.001, "
                  "0.002, 0.004)</td>"));
  EXPECT_TRUE(has(page, "every planned run finished and is in the numbers"));
}

TEST_F(ReportTest, ShowsHowFarUpdatesGoWhereThatWasRecorded) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  const std::string page = report(sweep);
  EXPECT_TRUE(has(page, "<div class=\"many\">"));
  EXPECT_TRUE(has(page, "by 0.10 % of its size with AdamW and by 1.0 % of its size with"));
  EXPECT_TRUE(has(page, "Distance from orthogonality"));
  EXPECT_TRUE(has(page, "<a href=\"updates.csv\">"));
  EXPECT_TRUE(has(read_file(RunFolder(root_).report() / "updates.csv"), ",50,fc,muon,"));
  sweep.updates = false;
  const std::string old = report(sweep);
  EXPECT_FALSE(has(old, "<div class=\"many\">"));
  EXPECT_FALSE(has(old, "Distance from orthogonality"));
  EXPECT_TRUE(has(old, "Share of clipped steps"));
  EXPECT_TRUE(has(old, "holds no rows about updates"));
}

TEST_F(ReportTest, ManyCurvesAreShownByWhatTheyDifferByAndOneByOneBeforeAllTogether) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  EXPECT_FALSE(has(report(sweep), "arm by arm"));
  sweep.arms.push_back({"slow Muon", "muon", {1e-3, 2e-3}, {1.25, 1.27}, 0.11});
  const std::string page = report(sweep);
  size_t last = 0;
  for (const char* id :
       {"acceptance_length-difference", "val_loss-difference", "acceptance_length-of-1",
        "acceptance_length-of-5", "val_loss-of-5", "acceptance_length-steps"}) {
    const size_t at = page.find("id=\"" + std::string(id) + "\"");
    ASSERT_NE(at, std::string::npos) << id;
    EXPECT_GT(at, last) << id;
    last = at;
  }
  EXPECT_FALSE(has(page, "id=\"acceptance_length-of-6\""));
}

TEST_F(ReportTest, ShowsTheSpectraWhereRunsEndAndNamesDeadTensors) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  const std::string page = report(sweep);
  EXPECT_TRUE(has(page, "Spectra where training ends"));
  EXPECT_TRUE(has(page, "id=\"spectrum-weights-1\""));
  EXPECT_TRUE(has(page, "id=\"spectrum-momentum-1\""));
  EXPECT_TRUE(has(page, "8.50<small>1.25</small>"));
  EXPECT_TRUE(has(page, "8.50<small>2.50</small>"));
  EXPECT_FALSE(has(page, "Dead tensors"));
  EXPECT_TRUE(has(read_file(RunFolder(root_).report() / "updates.csv"),
                  ",weight_sigma_0,weight_sigma_25,weight_sigma_50,weight_sigma_75,"
                  "weight_sigma_100,weight_stable_rank,momentum_sigma_0,"));
  Study study = load_study(RunFolder(root_));
  for (Result& result : study.results) {
    if (result.arm != "Muon") continue;
    for (UpdateRow& row : result.updates)
      if (row.kind == "self_attn.q_proj") row.update_rms /= 250;
  }
  EXPECT_TRUE(has(updates_section(study),
                  "<strong>Dead tensors</strong>: <code>self_attn.q_proj</code> of Muon (by 0.40 "
                  "%)"));
  sweep.updates = false;
  EXPECT_FALSE(has(report(sweep), "Spectra where training ends"));
}

// Fewer steps at larger rates: 1.4 at the best rate, less by 0.01 for each factor of 2 from it.
SyntheticSweep sweep_over_steps() {
  SyntheticSweep sweep;
  sweep.seeds = 2;
  const std::vector<double> rates = {0.005, 0.01, 0.02, 0.04, 0.08};
  sweep.arms = {
      {"1 step", "muon", rates, {1.36, 1.37, 1.38, 1.39, 1.4}, 0.1, {{"steps", 1}}},
      {"5 steps", "muon", rates, {1.38, 1.39, 1.4, 1.39, 1.38}, 0.1, {{"steps", 5}}},
      {"exact", "muon", rates, {1.39, 1.4, 1.39, 1.38, 1.37}, 0.1, {{"orthogonalizer", "exact"}}}};
  return sweep;
}

TEST_F(ReportTest, ShowsTheBestRateAgainstOrthogonalizationStepsWhereTheyWereSwept) {
  const std::string page =
      report(sweep_over_steps(), {{synthetic_run("5 steps", 0.08, 1), "diverged", "NaN"}});
  EXPECT_TRUE(has(page, "Best rate against orthogonalization steps"));
  EXPECT_TRUE(has(page,
                  "the best rate is 0.08 with 1 step and 0.01 with the exact polar factor, "
                  "8.0 times as large; of 2 "
                  "seeds each by itself: 8.0, 8.0 times. Here the less exact orthogonalization "
                  "wanted a larger rate. 0.08 is the largest rate tried with 1 step, so it is no "
                  "optimum"));
  EXPECT_TRUE(has(page, "edge of its grid"));
  EXPECT_TRUE(has(page, "1 diverged at 0.08"));
  EXPECT_FALSE(has(report(SyntheticSweep::of_four()), "orthogonalization steps"));
}

TEST_F(ReportTest, PrintsBoldOnlyDifferencesThatAreClaims) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  EXPECT_TRUE(has(report(sweep), "<strong>+"));
  for (SyntheticArm& arm : sweep.arms) arm.lengths = {1.2, 1.2, 1.2, 1.2};
  EXPECT_FALSE(has(report(sweep), "<td class=\"number\"><strong>"));
}

TEST_F(ReportTest, OpensWithTheChecksRefusalsFirst) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  sweep.in_company = true;
  const std::string page = report(sweep);
  const size_t refusal = page.find("<tr class=\"refuses\"><th scope=\"row\">F12</th>");
  const size_t warning = page.find("<tr class=\"warns\"><th scope=\"row\">F20</th>");
  ASSERT_NE(refusal, std::string::npos);
  ASSERT_NE(warning, std::string::npos);
  EXPECT_LT(refusal, warning);
  // And before all of it on the first screen.
  const size_t against = page.find(
      "<strong>Speaks against</strong> F12 unequal or unfinished "
      "schedules (time alone) · ");
  ASSERT_NE(against, std::string::npos);
  EXPECT_LT(against, page.find("<section id=\"answer\">"));
  EXPECT_LT(page.find("<svg id=\"forest\""), against);
  EXPECT_TRUE(has(page, "no winner is named (F12)"));  // at equal seconds
  EXPECT_TRUE(has(page, "NorMuon has the highest acceptance length"));
}

TEST_F(ReportTest, AcceptanceLengthsHaveAnIntervalOverPromptsWhereCountsAreRecorded) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  EXPECT_FALSE(has(report(sweep), "not recorded"));
  sweep.updates = false;
  EXPECT_TRUE(has(report(sweep), "not recorded"));
}

TEST_F(ReportTest, NamesFromTheSweepFileAreEscapedEverywhere) {
  const SyntheticSweep sweep = hostile_sweep();
  const std::string page = report(sweep, bad_ends(sweep));
  EXPECT_TRUE(has(page, "&lt;/script&gt;&lt;b onmouseover=&quot;x&quot;&gt;&#39;&amp;amp;"));
  EXPECT_FALSE(has(page, "<b "));
  EXPECT_FALSE(has(page, "</script"));
  EXPECT_FALSE(has(page, "onmouseover=\""));
  // Every tag is one of ours.
  const std::set<std::string> known = {
      "!DOCTYPE", "a",    "body",    "br",    "circle",  "clipPath", "figcaption", "code",
      "dd",       "desc", "details", "div",   "dl",      "dt",       "figure",     "g",
      "h1",       "h2",   "h3",      "head",  "header",  "html",     "li",         "line",
      "main",     "meta", "nav",     "p",     "path",    "pre",      "rect",       "section",
      "small",    "span", "strong",  "style", "summary", "svg",      "table",      "tbody",
      "td",       "text", "th",      "thead", "title",   "tr",       "ul"};
  const std::regex tag("</?([!A-Za-z][A-Za-z0-9]*)");
  for (std::sregex_iterator it(page.begin(), page.end(), tag), end; it != end; ++it) {
    EXPECT_TRUE(known.count((*it)[1])) << (*it)[0];
  }
}

TEST_F(ReportTest, TagsAreClosedInOrder) {
  const SyntheticSweep sweep = hostile_sweep();
  const std::string page = report(sweep, bad_ends(sweep));
  std::vector<std::string> open;
  const std::regex tag("<(/?)([A-Za-z][A-Za-z0-9]*)[^>]*?(/?)>");
  for (std::sregex_iterator it(page.begin(), page.end(), tag), end; it != end; ++it) {
    const std::string name = (*it)[2];
    if (name == "meta" || name == "br" || (*it)[3] == "/") continue;
    if ((*it)[1] == "") {
      open.push_back(name);
    } else {
      ASSERT_FALSE(open.empty()) << name;
      ASSERT_EQ(open.back(), name);
      open.pop_back();
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST_F(ReportTest, IdsAreUnique) {
  const std::string page = report(SyntheticSweep::of_four());
  std::set<std::string> ids;
  const std::regex id(" id=\"([^\"]*)\"");
  for (std::sregex_iterator it(page.begin(), page.end(), id), end; it != end; ++it) {
    EXPECT_TRUE(ids.insert((*it)[1]).second) << (*it)[1];
  }
  EXPECT_GT(ids.size(), 20u);
}

TEST_F(ReportTest, FetchesNothingAndRunsNothing) {
  const std::string page = report(SyntheticSweep::of_four());
  for (const char* part : {"http://", "https://", "<script", "<link", "<img", "url(h", "url('",
                           "url(\"", "@import", "src="}) {
    EXPECT_FALSE(has(page, part)) << part;
  }
  EXPECT_TRUE(has(page, "default-src 'none'"));
}

TEST_F(ReportTest, EveryFigureLinksToATableThatIsThere) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  sweep.target.value = 1.1;  // reached, so that its charts are there
  const std::string page = report(sweep);
  const std::map<std::string, std::string> written = files();
  int64_t figures = 0;
  const std::regex link("<figcaption><a href=\"([a-z_]+\\.csv)\">");
  for (size_t at = page.find("<figure"); at != std::string::npos;
       at = page.find("<figure", at + 1)) {
    const std::string html = page.substr(at, page.find("</figure>", at) - at);
    const size_t caption = html.find("<figcaption>");
    ASSERT_NE(caption, std::string::npos) << html.substr(0, 200);
    std::smatch match;
    const std::string rest = html.substr(caption);
    ASSERT_TRUE(std::regex_search(rest, match, link)) << rest;
    EXPECT_TRUE(written.contains(match[1])) << match[1];
    ++figures;
  }
  EXPECT_GT(figures, 15);
}

TEST_F(ReportTest, ShowsTheEndOfTrainingByItselfWhereItWasEvaluatedOften) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  EXPECT_FALSE(has(report(sweep), "id=\"val_loss-end\""));
  sweep.evaluations = {0, 100, 160, 170, 180, 190, 200};
  EXPECT_TRUE(has(report(sweep), "id=\"val_loss-end\""));
}

TEST_F(ReportTest, TellsNoPathOfTheMachine) {
  const std::string page = report(SyntheticSweep::of_four());
  EXPECT_FALSE(has(page, root_.parent_path().string() + "/"));
  EXPECT_TRUE(has(page, "<code>quick.json</code>"));
}

TEST_F(ReportTest, MarksOptionsThatDifferFromTheReference) {
  const std::string page = report(SyntheticSweep::of_four());
  EXPECT_TRUE(has(page, "AdamW<small>reference</small>"));
  EXPECT_TRUE(has(page, "≠</span>"));
}

TEST_F(ReportTest, ListsEveryRunWithoutAResultWithItsReason) {
  const SyntheticSweep sweep = SyntheticSweep::of_four();
  const std::string page = report(sweep, bad_ends(sweep));
  EXPECT_TRUE(has(page,
                  "<th scope=\"row\">AdamW lr=0.004 seed=2</th><td>diverged</td><td>60 "
                  "of 200</td><td>loss is NaN at step 61</td>"));
  EXPECT_TRUE(has(page, "<th scope=\"row\">Muon lr=0.02 seed=3</th><td>failed</td>"));
  EXPECT_TRUE(has(page, "<th scope=\"row\">Muon lr=0.005 seed=1</th><td>unfinished</td>"));
  EXPECT_TRUE(has(page, "<td>unreadable</td>"));
  EXPECT_TRUE(has(page, "<td>not started</td><td>0 of 200</td>"));
  EXPECT_TRUE(has(page, "39 runs: 34 finished, 1 diverged, 4 without a result"));
}

TEST_F(ReportTest, AFolderWithoutAnyResultStillHasAReport) {
  const SyntheticSweep sweep = SyntheticSweep::of_four();
  const RunFolder folder = write_synthetic_folder(root_, sweep);
  std::filesystem::remove_all(folder.segments());
  write_report(folder);
  const std::string page = read_file(folder.report_page());
  EXPECT_TRUE(has(page, "no finished run has a number yet"));
  EXPECT_TRUE(has(page, "240 sequences, 31,200 tokens (21,120 of responses)"));
  EXPECT_TRUE(has(read_file(folder.report() / "evaluations.csv"), "run,step,tokens"));
}

TEST_F(ReportTest, EveryRunHasAFoldAndEveryArmACost) {
  const SyntheticSweep sweep = SyntheticSweep::of_four();
  const std::string page = report(sweep, bad_ends(sweep));
  const size_t from = page.find("<section id=\"runs\">");
  const std::string runs = page.substr(from, page.find("</section>", from) - from);
  int64_t folds = 0;
  for (size_t at = runs.find("<details>"); at != std::string::npos;
       at = runs.find("<details>", at + 1))
    ++folds;
  EXPECT_EQ(folds, 1 + 39);
  EXPECT_TRUE(has(runs, "<summary>AdamW lr=0.004 seed=2 <small>diverged</small></summary>"));
  EXPECT_TRUE(has(runs, "<dt>Ended</dt><dd>loss is NaN at step 61</dd>"));
  // 12 runs of AdamW, of which one ended at step 60 of 200.
  const size_t cost = page.find("<section id=\"cost\">");
  EXPECT_NE(page.substr(cost, 2500)
                .find("AdamW</th><td class=\"number\">12</td><td "
                      "class=\"number\">2,260</td>"),
            std::string::npos);
}

TEST_F(ReportTest, WithoutAPlanThereIsNoReport) {
  const RunFolder folder(root_);
  EXPECT_THROW(write_report(folder), Error);
  EXPECT_FALSE(std::filesystem::exists(folder.report()));
}

TEST_F(ReportTest, MarksSecondsMeasuredInCompany) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  EXPECT_FALSE(has(report(sweep), "† shared machine"));
  sweep.in_company = true;
  const std::string page = report(sweep);
  EXPECT_TRUE(has(page, "† shared machine"));
  EXPECT_TRUE(has(page, "† Some of these runs shared the machine"));
}

TEST_F(ReportTest, ShowsTheStepsThatWereTimedAloneAndTheirMemory) {
  SyntheticSweep sweep = SyntheticSweep::of_four();
  sweep.in_company = true;
  const RunFolder folder = write_synthetic_folder(root_, sweep);
  Timing timing;
  timing.steps = {{0.001, 0.01, 0.02, 0.03, 0.004}};
  timing.weight_bytes = timing.gradient_bytes = 4'000'000;
  timing.optimizer_bytes = 8'500'000;
  timing.machine = {"AVX2", "cpu", "Synthetic 9000", 2, 1};
  for (const PlannedRun& run : read_plan(folder).runs)
    write_timing(SegmentFolder(folder, run.segments[0]).timing(), timing);
  write_report(folder);
  const std::string page = read_file(folder.report_page());
  EXPECT_FALSE(has(page, "† shared machine"));
  EXPECT_FALSE(has(page, "<tr class=\"warns\"><th scope=\"row\">F20</th>"));
  EXPECT_TRUE(has(page, "times the median step timed alone"));
  EXPECT_TRUE(has(page, "rest of<br>the update"));
  EXPECT_TRUE(has(page, "65.0 to 65.0"));
  EXPECT_TRUE(has(page, ">8.50<")) << "megabytes of state";
}

TEST_F(ReportTest, TheSameFolderGivesTheSameBytes) {
  const SyntheticSweep sweep = hostile_sweep();
  report(sweep, bad_ends(sweep));
  const auto before = files();
  write_report(RunFolder(root_));
  EXPECT_TRUE(files() == before);
}

// Numbers as most of Europe writes them.
struct CommaNumbers : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_F(ReportTest, NumbersDoNotDependOnTheLocale) {
  const SyntheticSweep sweep = SyntheticSweep::of_four();
  report(sweep);
  const auto plain = files();
  for (const char* name : {"index.html", "runs.csv", "evaluations.csv", "updates.csv", "arms.csv",
                           "pairs.csv", "checks.csv", "trials.csv"}) {
    EXPECT_TRUE(plain.contains(name)) << name;
  }
  const std::locale before = std::locale::global(std::locale(std::locale(), new CommaNumbers));
  write_report(RunFolder(root_));
  std::locale::global(before);
  for (const auto& [name, text] : files()) EXPECT_TRUE(text == plain.at(name)) << name;
}

TEST_F(ReportTest, EveryRunAndEvaluationIsInTheCsvFiles) {
  const SyntheticSweep sweep = SyntheticSweep::of_four();
  report(sweep, bad_ends(sweep));
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  const RunFolder folder(root_);
  EXPECT_EQ(lines(read_file(folder.report() / "runs.csv")), 1 + 39);
  // 34 finished runs with four evaluations; three that stopped at step 60, and the unreadable one,
  // which was complete but for its outcome up to that step.
  EXPECT_EQ(lines(read_file(folder.report() / "evaluations.csv")), 1 + 34 * 4 + 4 * 2);
}

TEST_F(ReportTest, OfManyArmsThePageSaysThatNotEveryPairIsInTheTable) {
  const std::string said = "of so many arms not every pair";
  const auto arms = [](int count) {
    SyntheticSweep sweep;
    for (int i = 0; i < count; ++i)
      sweep.arms.push_back(
          {"arm " + std::to_string(i), "adamw", {1e-3 + 1e-5 * i}, {1.3 + 0.001 * i}, 0.004});
    sweep.updates = false;
    return sweep;
  };
  EXPECT_FALSE(has(report(arms(40)), said));
  EXPECT_EQ(std::ranges::count(files()["pairs.csv"], '\n'), 1 + 4 * (40 * 39 / 2));
  EXPECT_TRUE(has(report(arms(44)), said));
  // Of the worst four, the reference among them, only the pairs of the reference.
  EXPECT_EQ(std::ranges::count(files()["pairs.csv"], '\n'), 1 + 4 * (43 + 40 * 39 / 2));
}

}  // namespace
}  // namespace draftlab
