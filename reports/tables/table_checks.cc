#include "reports/checks/fairness.h"
#include "reports/tables/tables.h"
#include "reports/text/csv.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// One line: a check and one of its findings.
struct Verdict {
  const CheckKind* kind;
  const FairnessFinding* finding;  // null: it has none
};
using Column = CsvColumn<Verdict>;

std::vector<Verdict> verdicts_of(const std::vector<FairnessFinding>& findings) {
  std::vector<Verdict> verdicts;
  for (const CheckKind& kind : check_kinds()) {
    const size_t before = verdicts.size();
    for (const FairnessFinding& finding : findings) {
      if (finding.id == kind.id) verdicts.push_back({&kind, &finding});
    }
    if (verdicts.size() == before) verdicts.push_back({&kind, nullptr});
  }
  return verdicts;
}

std::string verdict_name(const Verdict& verdict) {
  if (verdict.kind->run == nullptr) return "cannot happen";
  return verdict.finding == nullptr ? "passes" : severity_name(verdict.finding->severity);
}

}  // namespace

std::string checks_csv(const Study& study) {
  const std::vector<Column> columns = {
      {"id", [](const Verdict& v) { return v.kind->id; }},
      {"severity", [](const Verdict& v) { return severity_name(v.kind->severity); }},
      {"question", [](const Verdict& v) { return v.kind->question; }},
      {"verdict", verdict_name},
      {"by_time_only",
       [](const Verdict& v) -> std::optional<bool> {
         if (v.finding == nullptr) return std::nullopt;
         return v.finding->by_time_only;
       }},
      {"arms",
       [](const Verdict& v) { return v.finding == nullptr ? "" : listed(v.finding->arms); }},
      {"sentence",
       [](const Verdict& v) {
         return v.finding == nullptr ? v.kind->excluded : v.finding->sentence;
       }},
  };
  return csv(columns, verdicts_of(study.findings));
}

}  // namespace draftlab
