#include "reports/page/opening.h"

#include <algorithm>
#include <set>

#include "base/number_text.h"
#include "reports/checks/fairness.h"
#include "reports/study/comparison.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr size_t kMostOfAName = 32;  // characters, in the headline

int64_t diverged_of(const Arm& arm, int64_t& runs) {
  int64_t diverged = 0;
  for (const Setting& setting : arm.settings) {
    diverged += setting.diverged;
    runs += static_cast<int64_t>(setting.runs.size());
  }
  return diverged;
}

std::string said_of(const Comparison& comparison, Measure measure) {
  const Estimate& d = comparison.difference;
  if (comparison.refusal != nullptr) return "refused (" + comparison.refusal->id + ")";
  if (comparison.claimed()) return better(measure, d.mean, 0) ? "better" : "worse";
  if (comparison.equivalent()) return "no difference beyond " + number_text(comparison.same);
  if (d.n == 0) return "no seed in common";
  if (d.n < kFewestSeeds) return "too few seeds";
  return comparison.asked ? "open" : "not asked";
}

ForestRow row_of(const Study& study, const Arm& arm, const std::vector<Comparison>& all,
                 Measure measure) {
  const Summary& summary = study.summary;
  const Arm& reference = summary.arms[summary.reference];
  ForestRow row{.arm = arm.name, .look = arm.look, .reference = &arm == &reference};
  if (arm.chosen() == nullptr) {
    int64_t runs = 0;
    const int64_t diverged = diverged_of(arm, runs);
    row.said = diverged == 0
                   ? "no result yet"
                   : "diverged in " + std::to_string(diverged) + " of " + std::to_string(runs);
    return row;
  }
  row.value = at_end(*arm.chosen(), measure).estimate.mean;
  if (row.reference) {
    if (summary.baselines) {
      // Of its acceptance length, whatever decides.
      const double table = summary.baselines->bigram_acceptance_length;
      const double length = at_end(*arm.chosen(), Measure::kAcceptanceLength).estimate.mean;
      const bool below = length < table;
      row.said =
          measure == Measure::kAcceptanceLength
              ? std::string(below ? "below" : "above") + " bigram table (" + fixed(table, 3) + ")"
              : std::string("accepts ") + (below ? "less" : "more") + " than a bigram table";
    }
    return row;
  }
  if (arm.copy_of) {
    row.said = "copy of " + summary.arms[*arm.copy_of].name;
    return row;
  }
  if (reference.chosen() == nullptr) return row;
  const Comparison comparison = comparison_of(all, arm, reference);
  row.difference = comparison.difference.mean;
  row.low = comparison.interval.low;
  row.high = comparison.interval.high;
  row.claimed = comparison.claimed();
  row.said = said_of(comparison, measure);
  return row;
}

std::string names_of(const std::vector<const ForestRow*>& rows) {
  std::vector<std::string> names;
  for (const ForestRow* row : rows) names.push_back(shorten(row->arm, kMostOfAName));
  return joined(names);
}

// "+0.169", "+0.169 to +0.177"
std::string range_of(const std::vector<const ForestRow*>& rows, int decimals) {
  const auto [low, high] = std::ranges::minmax(rows, {}, &ForestRow::difference);
  const std::string from = signed_text(low->difference, decimals),
                    to = signed_text(high->difference, decimals);
  return from == to ? from : from + " to " + to;
}

std::string after_text(const Study& study) {
  if (const double budget = budget_seconds(study.plan); !std::isnan(budget))
    return " after " + seconds_text(budget) + " of training each";
  std::set<int64_t> steps;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() != nullptr) steps.insert(example_run(arm).config.training.steps);
  }
  if (steps.size() != 1) return " at the end";
  return " after " + grouped(*steps.begin()) + " steps";
}

std::string headline_of(const Study& study, const Opening& opening,
                        const std::vector<Comparison>& all, Measure measure) {
  const std::string& name = kind_of(measure).name;
  const std::string whole = study.summary.arms[study.summary.reference].name;
  const std::string reference = shorten(whole, kMostOfAName);
  std::vector<const ForestRow*> ahead, behind, open, alike;
  const FairnessFinding* refusal = nullptr;
  double detectable = 0;
  for (const ForestRow& row : opening.rows) {
    if (row.said == "better") ahead.push_back(&row);
    if (row.said == "worse") behind.push_back(&row);
    if (row.said == "open") open.push_back(&row);
    if (row.said.starts_with("no difference")) alike.push_back(&row);
  }
  for (const Comparison& one : all) {
    const Arm* arms[] = {one.a, one.b};
    if (std::ranges::none_of(arms, [&](const Arm* arm) { return arm->name == whole; })) continue;
    if (one.refusal != nullptr && refusal == nullptr) refusal = one.refusal;
    if (one.asked && !one.claimed() && !std::isnan(one.detectable()))
      detectable = std::max(detectable, one.detectable());
  }
  std::vector<std::string> parts;
  const auto verb = [](const auto& rows, const char* one, const char* many) {
    return rows.size() == 1 ? one : many;
  };
  if (!ahead.empty()) {
    parts.push_back(names_of(ahead) + verb(ahead, " beats ", " beat ") + reference + ": " +
                    range_of(ahead, opening.decimals) + " " + name + after_text(study) + ".");
    if (ahead.size() > 1) parts.push_back("Which is best was not asked.");
  }
  if (!behind.empty()) {
    parts.push_back(names_of(behind) + verb(behind, " falls", " fall") + " behind " + reference +
                    ": " + range_of(behind, opening.decimals) + " " + name + ".");
  }
  if (!alike.empty()) {
    parts.push_back("No difference of " + names_of(alike) + " to " + reference + " beyond " +
                    alike.front()->said.substr(std::string("no difference beyond ").size()) + ".");
  }
  if (!open.empty()) {
    parts.push_back("No difference of " + names_of(open) + " to " + reference +
                    " can be claimed; one of " + fixed(detectable, opening.decimals) +
                    " would show 8 times in 10.");
  }
  if (!parts.empty()) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : " ") + part;
    return text;
  }
  if (refusal != nullptr)
    return "No winner: " + refusal->id + " refuses every comparison with " + reference + ".";
  if (opening.rows.size() == 1) return "One arm: there is nothing to compare.";
  return "Nothing can be said yet: too few runs have finished.";
}

}  // namespace

std::string words_of(const ForestRow& row, int decimals) {
  if (row.reference && std::isfinite(row.value))
    return fixed(row.value, decimals) + (row.said.empty() ? "" : ", " + row.said);
  if (std::isfinite(row.difference)) return signed_text(row.difference, decimals) + " " + row.said;
  return row.said;
}

Opening opening(const Study& study) {
  Opening result;
  const Summary& summary = study.summary;
  const Measure measure = summary.chosen_by;
  std::set<std::string> spoke;
  const std::vector<CheckKind>& kinds = check_kinds();
  for (const Severity severity : {Severity::kRefuse, Severity::kWarn, Severity::kInform}) {
    for (const FairnessFinding& finding : study.findings) {
      if (finding.severity != severity || !spoke.insert(finding.id).second) continue;
      (severity == Severity::kRefuse ? result.refused
       : severity == Severity::kWarn ? result.warned
                                     : result.informed) += 1;
      if (severity == Severity::kInform) continue;
      const auto kind = std::ranges::find(kinds, finding.id, &CheckKind::id);
      result.against.push_back(finding.id + " " + kind->fault +
                               (finding.by_time_only ? " (time alone)" : ""));
    }
  }
  for (const CheckKind& kind : kinds) result.excluded += kind.run == nullptr;
  result.passed = static_cast<int64_t>(kinds.size() - spoke.size()) - result.excluded;
  if (summary.arms.empty()) {
    result.headline = "The plan holds no runs.";
    return result;
  }
  result.decimals = kind_of(measure).decimals;
  result.measure =
      kind_of(measure).name + ", difference to " + summary.arms[summary.reference].name;
  const std::vector<Comparison> all = comparisons(study, measure, View::kEqualSteps);
  for (const Arm& arm : summary.arms) result.rows.push_back(row_of(study, arm, all, measure));
  std::ranges::stable_sort(result.rows, [&](const ForestRow& a, const ForestRow& b) {
    if (a.reference != b.reference) return b.reference;
    return better(measure, a.value, b.value);
  });
  result.headline = headline_of(study, result, all, measure);
  return result;
}

}  // namespace draftlab
