#include "reports/checks/agreement.h"

#include <algorithm>
#include <map>

#include "record/option.h"
#include "reports/text/words.h"

namespace draftlab {

void Agreement::add(const std::string& value, const Result& run) {
  auto group = std::find_if(groups_.begin(), groups_.end(),
                            [&](const Group& g) { return g.value == value; });
  if (group == groups_.end()) group = groups_.insert(groups_.end(), {value, {}, run.run, 0});
  ++group->runs;
  if (group->arms.empty() || group->arms.back() != run.arm) {
    if (std::find(group->arms.begin(), group->arms.end(), run.arm) == group->arms.end())
      group->arms.push_back(run.arm);
  }
}

std::string Agreement::text() const {
  std::vector<std::string> parts;
  for (const Group& group : groups_) {
    parts.push_back(group.value + " in " +
                    (group.runs == 1 ? group.first_run
                                     : counted(group.runs, "run") + " such as " + group.first_run));
  }
  return joined(parts);
}

std::vector<std::string> Agreement::outliers() const {
  const auto usual = std::max_element(
      groups_.begin(), groups_.end(),
      [](const Group& a, const Group& b) { return a.arms.size() < b.arms.size(); });
  std::vector<std::string> arms;
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    if (group == usual) continue;
    for (const std::string& arm : group->arms) {
      if (std::find(arms.begin(), arms.end(), arm) == arms.end()) arms.push_back(arm);
    }
  }
  return arms;
}

std::vector<std::vector<std::string>> Agreement::arms_by_value() const {
  std::vector<std::vector<std::string>> arms;
  for (const Group& group : groups_) arms.push_back(group.arms);
  return arms;
}

std::vector<FairnessFinding> disagreements(const Study& study, Severity severity,
                                           JsonObject (*of)(const Result& run),
                                           const std::string& advice) {
  std::vector<std::string> keys;
  std::vector<std::pair<const Result*, JsonObject>> objects;
  for (const Result& run : study.results) {
    JsonObject object = of(run);
    if (object.empty()) continue;
    for (const auto& field : object) {
      const std::string key(field.key());
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
    objects.emplace_back(&run, std::move(object));
  }
  std::vector<FairnessFinding> findings;
  for (const std::string& key : keys) {
    Agreement agreement;
    for (const auto& [run, object] : objects) {
      const Json* value = object.if_contains(key);
      agreement.add(value == nullptr ? "nothing" : option_text(*value), *run);
    }
    if (agreement.holds()) continue;
    findings.push_back({severity,
                        capitalized(key) + " differs: " + agreement.text() + "; " + advice,
                        agreement.outliers(), false, "", agreement.arms_by_value()});
  }
  return findings;
}

}  // namespace draftlab
