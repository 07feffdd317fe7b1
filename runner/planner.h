#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "record/plan.h"
#include "record/store_facts.h"
#include "runner/sweep.h"

namespace draftlab {

// What planning must know of a store, from its manifest or, before it is built, its specification.
struct PlannedStore {
  std::filesystem::path folder;  // absolute
  Json specification;            // as read; {"folder": ...} where only the built store is known
  std::string hash;              // identity of the data; "" until it is built
  StoreFacts facts;
};

// The segments of a plan, each once: two runs that agree up to a step share the segments up to it
// because these have the same id. Parents come before their children.
class SegmentGraph {
 public:
  // One run's segments in order; sets parent and from_step of each from the one before it. Returns
  // their ids. REQUIRES: not empty, to_step rises.
  std::vector<std::string> add_path(std::vector<SegmentConfig> path);
  // The same for a path with each of `seeds` in place of its own; the ids by seeds. What the seeds
  // share is written as text once.
  std::vector<std::vector<std::string>> add_paths(std::vector<SegmentConfig> path,
                                                  const std::vector<Seeds>& seeds);
  std::vector<PlannedSegment> take() { return std::move(segments_); }

 private:
  std::vector<PlannedSegment> segments_;
  std::unordered_map<std::string, size_t> index_;
};

// Resolves a sweep into runs and segments; a pure function. Throws Error with the key's path where
// the sweep does not fit the store. Runs are ordered by arm, grid point, seed. Of a sweep with
// tuning these are the trials; what follows from their results is next_phase()'s (runner/tuning.h).
PlanRecord make_plan(const Sweep& sweep, const PlannedStore& store);
// The same with these seeds instead of the sweep's own. With a rung the runs end there, cut at each
// rung before it (runner/halving.h); behind the last rung they go to their end.
PlanRecord make_phase(const Sweep& sweep, const PlannedStore& store,
                      const std::vector<Seeds>& seeds, const std::string& phase,
                      std::optional<size_t> rung = {});

}  // namespace draftlab
