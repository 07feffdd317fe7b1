#include "reports/study/sources.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "base/error.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

// Without a slash at the end, which would leave no name.
fs::path plain(const RunFolder& folder) {
  const fs::path path = fs::absolute(folder.root()).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

std::vector<std::string> labels_of(const std::vector<RunFolder>& folders) {
  std::set<fs::path> places;
  std::set<std::string> names;
  std::vector<std::string> labels;
  for (const RunFolder& folder : folders) {
    if (!places.insert(fs::weakly_canonical(plain(folder))).second)
      throw Error(folder.root().string(), "is given twice; name each result folder once");
    labels.push_back(plain(folder).filename().string());
    names.insert(labels.back());
  }
  if (names.size() == folders.size()) return labels;
  labels.clear();
  for (const RunFolder& folder : folders) labels.push_back(folder.root().string());
  return labels;
}

// The list of a sweep's arms; null where it has none.
JsonArray* arms_of(Json& sweep) {
  JsonObject* object = sweep.if_object();
  Json* arms = object == nullptr ? nullptr : object->if_contains("arms");
  return arms == nullptr ? nullptr : arms->if_array();
}

void add_label(const std::set<std::string>& arms, Source& source) {
  const std::string suffix = " (" + source.label + ")";
  for (PlannedRun& run : source.plan.runs) {
    if (!arms.contains(run.arm)) continue;
    run.arm += suffix;
    run.name += suffix;
  }
  for (TuningDecision& decision : source.plan.decisions) {
    if (arms.contains(decision.arm)) decision.arm += suffix;
  }
  JsonArray* stated = arms_of(source.plan.sweep);
  if (stated == nullptr) return;
  for (Json& arm : *stated) {
    Json* name = arm.is_object() ? arm.get_object().if_contains("name") : nullptr;
    if (name != nullptr && name->is_string() && arms.contains(std::string(name->get_string())))
      *name = std::string(name->get_string()) + suffix;
  }
}

// Arms and runs are told apart by name alone.
void require_distinct_names(const std::vector<Source>& sources) {
  std::map<std::string, const Source*> source_of_arm;
  std::set<std::string> runs;
  for (const Source& source : sources) {
    for (const PlannedRun& run : source.plan.runs) {
      const auto [arm, added] = source_of_arm.try_emplace(run.arm, &source);
      if (runs.insert(run.name).second && (added || arm->second == &source)) continue;
      throw Error(source.folder.root().string(),
                  "its run '" + run.name +
                      "' would be called as one of another folder; rename "
                      "the folder");
    }
  }
}

template <typename Value>
void keep_common(Value& value, const Value& other) {
  if (!(value == other)) value = Value();
}

}  // namespace

std::vector<Source> read_sources(const std::vector<RunFolder>& folders) {
  const std::vector<std::string> labels = labels_of(folders);
  std::vector<Source> sources;
  std::map<std::string, int64_t> folders_of_arm;
  for (size_t i = 0; i < folders.size(); ++i) {
    sources.push_back({folders[i], folders.size() > 1 ? labels[i] : "", read_plan(folders[i])});
    std::set<std::string> arms;
    for (const PlannedRun& run : sources.back().plan.runs) arms.insert(run.arm);
    for (const std::string& arm : arms) ++folders_of_arm[arm];
  }
  std::set<std::string> shared;
  for (const auto& [arm, count] : folders_of_arm) {
    if (count > 1) shared.insert(arm);
  }
  for (Source& source : sources) add_label(shared, source);
  if (sources.size() > 1) require_distinct_names(sources);
  return sources;
}

PlanRecord joined_plan(const std::vector<Source>& sources) {
  PlanRecord joined = sources.front().plan;
  if (sources.size() == 1) return joined;
  joined.sweep = JsonArray{joined.sweep};
  std::set<std::string> names = {joined.name};
  std::unordered_set<std::string> known;
  for (const PlannedSegment& segment : joined.segments) known.insert(segment.id);
  for (size_t i = 1; i < sources.size(); ++i) {
    const PlanRecord& plan = sources[i].plan;
    if (names.insert(plan.name).second) joined.name += " + " + plan.name;
    joined.sweep.get_array().push_back(plan.sweep);
    keep_common(joined.sweep_file, plan.sweep_file);
    keep_common(joined.store, plan.store);
    keep_common(joined.store_folder, plan.store_folder);
    keep_common(joined.store_hash, plan.store_hash);
    if (!joined.store_facts) joined.store_facts = plan.store_facts;
    if (joined.target.metric != plan.target.metric || joined.target.value != plan.target.value)
      joined.target = {};
    for (const PlannedSegment& segment : plan.segments) {
      if (known.insert(segment.id).second) joined.segments.push_back(segment);
    }
    joined.runs.insert(joined.runs.end(), plan.runs.begin(), plan.runs.end());
    joined.notices.insert(joined.notices.end(), plan.notices.begin(), plan.notices.end());
    joined.decisions.insert(joined.decisions.end(), plan.decisions.begin(), plan.decisions.end());
    joined.phases = std::max(joined.phases, plan.phases);
  }
  if (joined.store_hash.empty()) joined.store_facts = std::nullopt;
  return joined;
}

}  // namespace draftlab
