#include <cmath>

#include "base/number_text.h"
#include "reports/checks/fairness.h"
#include "reports/page/answer.h"
#include "reports/page/sections.h"
#include "reports/stats/claim.h"
#include "reports/study/comparison.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

std::string findings_table(const std::vector<FairnessFinding>& findings,
                           const std::vector<Severity>& severities) {
  HtmlTable table({"check", "", "finding"}, 99);
  size_t rows = 0;
  for (const Severity severity : severities) {
    for (const FairnessFinding& finding : findings) {
      if (finding.severity != severity) continue;
      table.row({finding.id, severity_name(severity), escape(finding.sentence)},
                severity_name(severity));
      ++rows;
    }
  }
  return rows == 0 ? "" : table.html();
}

std::string difference_cell(const std::vector<Comparison>& all, const Arm& arm,
                            const Arm& reference, Measure measure) {
  const Comparison comparison = comparison_of(all, arm, reference);
  const Estimate& d = comparison.difference;
  if (d.n == 0) return "no common seed";
  const int decimals = kind_of(measure).decimals;
  std::string text = signed_text(d.mean, decimals);
  if (comparison.claimed()) text = "<strong>" + text + "</strong>";
  if (d.n < 2) return text + "<small>one seed</small>";
  text += "<small>" + interval_text(comparison.interval.low, comparison.interval.high, decimals) +
          "</small><small>";
  if (comparison.refusal != nullptr)
    return text + "no claim: " + comparison.refusal->id + "</small>";
  if (comparison.equivalent()) return text + verdict(comparison, measure) + "</small>";
  return text + (std::isnan(comparison.adjusted_p) ? "" : "p " + p_text(comparison.adjusted_p)) +
         "</small>";
}

}  // namespace

std::string fairness_section(const Study& study) {
  std::string html = paragraph(capitalized(counts_text(study.findings)) + ".");
  html += findings_table(study.findings, {Severity::kRefuse, Severity::kWarn});
  const std::string notes = findings_table(study.findings, {Severity::kInform});
  if (!notes.empty()) html += details("What a reader should know besides", notes, "figures");
  HtmlTable kinds({"check", "", "what it asks"}, 99);
  for (const CheckKind& kind : check_kinds()) {
    kinds.row({kind.id, kind.run == nullptr ? "cannot happen" : severity_name(kind.severity),
               escape(capitalized(kind.question)) +
                   (kind.run == nullptr ? " " + escape(capitalized(kind.excluded)) + "." : "")});
  }
  html += details("All " + std::to_string(check_kinds().size()) + " checks", kinds.html());
  return section("fairness", "Fairness", html);
}

std::string differences(const Study& study) {
  const Summary& summary = study.summary;
  const Arm& reference = summary.arms[summary.reference];
  if (reference.chosen() == nullptr) return "";
  const std::string steps = "at equal steps", seconds = "at equal seconds";
  HtmlTable table({"arm", "acceptance length<br>" + steps, "acceptance length<br>" + seconds,
                   "loss<br>" + steps, "loss<br>" + seconds, "paired seeds"});
  const std::vector<std::pair<Measure, View>> columns = {
      {Measure::kAcceptanceLength, View::kEqualSteps},
      {Measure::kAcceptanceLength, View::kEqualSeconds},
      {Measure::kLoss, View::kEqualSteps},
      {Measure::kLoss, View::kEqualSeconds}};
  std::vector<std::vector<Comparison>> comparisons_of;
  for (const auto& [measure, view] : columns)
    comparisons_of.push_back(comparisons(study, measure, view));
  int64_t rows = 0;
  for (const Arm& arm : summary.arms) {
    if (&arm == &reference || arm.chosen() == nullptr) continue;
    ++rows;
    std::vector<std::string> cells = {escape(arm.name)};
    for (size_t i = 0; i < columns.size(); ++i)
      cells.push_back(difference_cell(comparisons_of[i], arm, reference, columns[i].first));
    cells.push_back(std::to_string(comparison_of(comparisons_of[0], arm, reference).difference.n));
    table.row(cells);
  }
  if (rows == 0) return "";
  return "<h3>Differences to " + escape(reference.name) + "</h3>\n" +
         table.html_without_constants() +
         paragraph(
             "Mean difference over runs with the same seeds, with its Student-t interval: where a "
             "p "
             "stands below it, a question of this sweep is answered, the p of the paired t test is "
             "adjusted (Holm) for all its questions, and the interval is the one that excludes 0 "
             "where the claim stands; else the interval is of 95 % and nothing is claimed. Bold: "
             "at "
             "least " +
                 kFewestSeedsInWords + " seeds, p of at most " + kClaimLevelText +
                 ", and no check that refuses.",
             "note") +
         (rows < static_cast<int64_t>(kArmsOfAllPairs)
              ? ""
              : paragraph("pairs.csv has these pairs, those that the sweep asks about, and all of "
                          "the " +
                              std::to_string(kArmsOfAllPairs) +
                              " arms with the best means: of so many arms not every pair.",
                          "note"));
}

std::string answer_section(const Study& study) {
  std::string html = "<dl class=\"answer\">\n";
  for (const Statement& statement : answer(study)) {
    html += "<dt>" + escape(statement.topic) + "</dt><dd>" + escape(statement.sentence) + "</dd>\n";
  }
  html += "</dl>\n";
  if (!std::isnan(study.summary.equal_seconds)) {
    html += paragraph(
        "Orthogonalizing an update costs time, so both views count. At equal seconds a slower arm "
        "is read off in the middle of its schedule, by straight lines between its evaluations.",
        "note");
  }
  return section("answer", "Answer", html);
}

}  // namespace draftlab
