#include "reports/checks/fairness.h"
#include "reports/page/sections.h"
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

}  // namespace

std::string fairness_section(const Study& study) {
  std::string html = paragraph(capitalized(counts_text(study.findings)) + ".");
  html += findings_table(study.findings, {Severity::kRefuse, Severity::kWarn});
  const std::string notes = findings_table(study.findings, {Severity::kInform});
  if (!notes.empty()) html += details("What a reader should know besides", notes);
  HtmlTable kinds({"check", "", "what it asks"}, 99);
  for (const CheckKind& kind : check_kinds()) {
    kinds.row({kind.id, kind.run == nullptr ? "cannot happen" : severity_name(kind.severity),
               escape(capitalized(kind.question)) +
                   (kind.run == nullptr ? " " + escape(capitalized(kind.excluded)) + "." : "")});
  }
  html += details("All " + std::to_string(check_kinds().size()) + " checks", kinds.html());
  return section("fairness", "Fairness", html);
}

}  // namespace draftlab
