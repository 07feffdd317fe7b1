#include "reports/study/sources.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "record/segment_state.h"

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

// `labels`: what is put behind the name of an arm.
void add_labels(const std::map<std::string, std::string>& labels, Source& source) {
  const auto suffix = [&](const std::string& arm) {
    const auto found = labels.find(arm);
    return found == labels.end() ? "" : " (" + found->second + ")";
  };
  for (PlannedRun& run : source.plan.runs) {
    run.name += suffix(run.arm);
    run.arm += suffix(run.arm);
  }
  for (TuningDecision& decision : source.plan.decisions) decision.arm += suffix(decision.arm);
  JsonArray* stated = arms_of(source.plan.sweep);
  if (stated == nullptr) return;
  for (Json& arm : *stated) {
    Json* name = arm.is_object() ? arm.get_object().if_contains("name") : nullptr;
    if (name == nullptr || !name->is_string()) continue;
    const std::string plain(name->get_string());
    *name = plain + suffix(plain);
  }
}

// What the arms of a plan train, whatever their seeds: each run's stages, and the trials
// themselves, since a choice among other trials is another choice.
std::map<std::string, std::set<std::string>> trainings(const PlanRecord& plan) {
  std::map<std::string, std::string> seedless;  // by segment
  for (const PlannedSegment& segment : plan.segments) {
    JsonObject config = to_json(segment.config);
    config.erase("seeds");
    config.erase("parent");
    seedless[segment.id] = canonical(config);
  }
  std::map<std::string, std::set<std::string>> arms;
  for (const PlannedRun& run : plan.runs) {
    std::string text = run.phase + "\n" + run.point;
    for (const std::string& id : run.segments) text += "\n" + seedless.at(id);
    if (run.phase == kTrial) text += "\n" + run.segments.back();
    arms[run.arm].insert(std::move(text));
  }
  return arms;
}

// An arm as some folders train it: they are indices, the first one names it.
struct Pool {
  std::set<std::string> trainings;
  std::vector<size_t> sources;
};

std::map<std::string, std::vector<Pool>> pools_of(const std::vector<Source>& sources) {
  std::map<std::string, std::vector<Pool>> pools;  // by name of the arm
  for (size_t i = 0; i < sources.size(); ++i) {
    for (const auto& [arm, trainings_of_arm] : trainings(sources[i].plan)) {
      std::vector<Pool>& all = pools[arm];
      const std::set<std::string>& trained = trainings_of_arm;  // clang captures no binding
      auto pool =
          std::ranges::find_if(all, [&](const Pool& each) { return each.trainings == trained; });
      if (pool == all.end()) pool = all.insert(all.end(), Pool{trained, {}});
      pool->sources.push_back(i);
    }
  }
  return pools;
}

// Leaves each run of a pooled arm to one of its folders, and what decided to the first.
void keep_once(const std::string& arm, const Pool& pool, std::vector<Source>& sources) {
  std::map<std::string, size_t>
      keeper;  // of a run, by its last segment: who has a result, or the first
  for (const size_t i : pool.sources) {
    for (const PlannedRun& run : sources[i].plan.runs) {
      if (run.arm != arm) continue;
      const std::string& id = run.segments.back();
      const auto has_result = [&](size_t source) {
        const auto outcome = outcome_on_disk(SegmentFolder(sources[source].folder, id));
        return outcome && is_result(outcome->kind);
      };
      const auto [entry, added] = keeper.try_emplace(id, i);
      if (!added && !has_result(entry->second) && has_result(i)) entry->second = i;
    }
  }
  for (const size_t i : pool.sources) {
    PlanRecord& plan = sources[i].plan;
    std::erase_if(plan.runs, [&](const PlannedRun& run) {
      return run.arm == arm && keeper.at(run.segments.back()) != i;
    });
    if (i == pool.sources.front()) continue;
    std::erase_if(plan.decisions, [&](const TuningDecision& each) { return each.arm == arm; });
  }
}

// Runs are told apart by name alone, arms of several pools too.
void require_distinct_names(const std::vector<Source>& sources,
                            const std::map<std::string, std::vector<Pool>>& pools) {
  std::set<std::string> runs, labelled;
  const auto collides = [](const Source& source, const std::string& run) {
    throw Error(
        source.folder.root().string(),
        "its run '" + run + "' would be called as one of another folder; rename the folder");
  };
  for (const auto& [arm, all] : pools) {
    for (const Pool& pool : all) {
      const Source& source = sources[pool.sources.front()];
      const std::string name = all.size() > 1 ? arm + " (" + source.label + ")" : arm;
      if (!labelled.insert(name).second) collides(source, name);
    }
  }
  for (const Source& source : sources) {
    for (const PlannedRun& run : source.plan.runs)
      if (!runs.insert(run.name).second) collides(source, run.name);
  }
}

// A trial that went on from a rung is told by what it became.
void leave_out_rungs(PlanRecord& plan) {
  std::set<std::string> on_the_way;  // segments behind which a trial went on
  for (const PlannedRun& run : plan.runs) {
    if (run.phase == kTrial) on_the_way.insert(run.segments.begin(), run.segments.end() - 1);
  }
  std::erase_if(plan.runs, [&](const PlannedRun& run) {
    return run.phase == kTrial && on_the_way.contains(run.segments.back());
  });
}

template <typename Value>
void keep_common(Value& value, const Value& other) {
  if (!(value == other)) value = Value();
}

}  // namespace

std::vector<Source> read_sources(const std::vector<RunFolder>& folders) {
  const std::vector<std::string> labels = labels_of(folders);
  std::vector<Source> sources;
  for (size_t i = 0; i < folders.size(); ++i)
    sources.push_back({folders[i], folders.size() > 1 ? labels[i] : "", read_plan(folders[i])});
  for (Source& source : sources) leave_out_rungs(source.plan);
  if (sources.size() == 1) return sources;
  const std::map<std::string, std::vector<Pool>> pools = pools_of(sources);
  std::vector<std::map<std::string, std::string>> labels_of_arms(sources.size());
  for (const auto& [arm, all] : pools) {
    for (const Pool& pool : all) {
      keep_once(arm, pool, sources);
      if (all.size() == 1) continue;
      for (const size_t i : pool.sources)
        labels_of_arms[i][arm] = sources[pool.sources.front()].label;
    }
  }
  for (size_t i = 0; i < sources.size(); ++i) add_labels(labels_of_arms[i], sources[i]);
  require_distinct_names(sources, pools);
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
