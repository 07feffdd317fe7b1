#include "reports/warnings.h"

#include <cmath>
#include <map>
#include <set>

#include "reports/answer.h"
#include "reports/option.h"

namespace draftlab {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

void warn_of_missing_runs(const Study& study, std::vector<std::string>& out) {
  int64_t missing = 0, diverged = 0;
  for (const Result& result : study.results) {
    diverged += result.diverged();
    missing += !result.done() && !result.diverged();
  }
  const std::string all = std::to_string(study.results.size());
  if (missing > 0) {
    out.push_back(counted(missing, "run") + " of " + all + (missing == 1 ? " has" : " have") +
                  " no result (see Excluded runs); the numbers below are preliminary.");
  }
  if (diverged > 0) {
    out.push_back(counted(diverged, "run") + " of " + all +
                  " diverged; a setting with fewer diverged runs is preferred to one with more.");
  }
}

void warn_of_choice(const Study& study, std::vector<std::string>& out) {
  const Summary& summary = study.summary;
  std::vector<std::string> chosen;
  std::map<size_t, std::vector<std::string>> by_count;
  for (const Arm& arm : summary.arms) {
    if (arm.settings.size() > 1) chosen.push_back(arm.name);
    by_count[arm.settings.size()].push_back(arm.name);
    for (const SweptOption& option : arm.swept) {
      if (!option.at_edge || !arm.best) continue;
      out.push_back("The best setting of " + arm.name + " (" + arm.settings[*arm.best].label +
                    ") lies at the edge of its grid in " + option.key + " (tried " +
                    option_text(option.values.front()) + " to " +
                    option_text(option.values.back()) +
                    "); a better value may lie beyond: extend the grid.");
    }
  }
  if (!chosen.empty() && summary.chosen_on == Split::kHeldOut) {
    out.push_back(
        "The settings of " + joined(chosen) +
        " were chosen on the same held-out data that is reported here, which flatters the "
        "arms with more settings; give the sweep a tuning split to avoid it.");
  }
  if (by_count.size() > 1) {
    std::vector<std::string> parts;
    for (const auto& [count, names] : by_count) {
      parts.push_back(counted(static_cast<int64_t>(count), "setting") + " of " + joined(names));
    }
    out.push_back("The arms were not tuned equally: " + listed(parts) + ".");
  }
}

void warn_of_seeds(const Study& study, std::vector<std::string>& out) {
  std::vector<std::string> few;
  for (const Arm& arm : study.summary.arms) {
    if (arm.chosen() != nullptr && arm.chosen()->finished.size() < 3) few.push_back(arm.name);
  }
  if (!few.empty()) {
    out.push_back("Fewer than three finished seeds: " + joined(few) +
                  ". Differences of this size may be chance, and none is claimed.");
  }
}

void warn_of_company(const Study& study, std::vector<std::string>& out) {
  int64_t shared = 0, unknown = 0;
  for (const Result& result : study.results) {
    if (result.steps == 0) continue;
    shared += result.alone == false;
    unknown += !result.alone.has_value();
  }
  if (shared > 0) {
    out.push_back(counted(shared, "run") +
                  " shared the machine with another run while training; seconds measured in "
                  "company are not seconds measured alone, so every comparison by time is rough.");
  }
  if (unknown > 0) {
    out.push_back("For " + counted(unknown, "run") +
                  " nothing records whether another ran beside it.");
  }
}

// Runs with equal seeds must start from the same bits and see the same data.
void warn_of_unequal_starts(const Study& study, std::vector<std::string>& out) {
  std::map<std::string, std::set<std::string>> losses, tokens;
  for (const Result& result : study.results) {
    const std::string seed = seed_text(result.seeds);
    if (!result.held_out.empty()) {
      losses[seed].insert(canonical(Json(result.first(Split::kHeldOut, Measure::kLoss))));
    }
    if (result.done()) tokens[seed].insert(std::to_string(result.tokens));
  }
  for (const auto& [seed, values] : losses) {
    if (values.size() > 1) {
      out.push_back(
          "Runs of seed " + seed +
          " do not start from the same loss, so they did not start from the same weights.");
    }
  }
  for (const auto& [seed, values] : tokens) {
    if (values.size() > 1) {
      out.push_back("Finished runs of seed " + seed +
                    " trained on different numbers of tokens, so they did not see the same data.");
    }
  }
}

void warn_of_provenance(const Study& study, std::vector<std::string>& out) {
  std::map<std::string, std::set<std::string>> values;
  for (const Result& result : study.results) {
    for (const auto& field : result.provenance) {
      values[std::string(field.key())].insert(canonical(field.value()));
    }
  }
  std::vector<std::string> keys;
  for (const auto& [key, different] : values) {
    if (different.size() > 1) keys.push_back(key);
  }
  if (!keys.empty()) {
    out.push_back("The runs differ in " + joined(keys) + " (see Provenance).");
  }
}

void warn_of_gaps(const Study& study, std::vector<std::string>& out) {
  for (const Result& result : study.results) {
    if (result.done() && std::isnan(result.final(Split::kHeldOut, Measure::kLoss))) {
      out.push_back("The final held-out loss of " + result.run + " is not a number.");
    }
  }
}

}  // namespace

std::vector<std::string> warnings(const Study& study) {
  std::vector<std::string> out;
  warn_of_missing_runs(study, out);
  warn_of_seeds(study, out);
  warn_of_choice(study, out);
  warn_of_company(study, out);
  warn_of_unequal_starts(study, out);
  warn_of_provenance(study, out);
  warn_of_gaps(study, out);
  return out;
}

}  // namespace draftlab
