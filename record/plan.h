#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/segment.h"

namespace draftlab {

// A level of held-out quality fixed before anything ran; time to target counts the first of two
// evaluations in a row that reach it.
struct TargetLevel {
  std::string metric;  // "val_loss" or "acceptance_length"; "": no target
  double value = 0;
};

// One curve of the report: a path through segments.
struct PlannedRun {
  std::string name;           // unique; "muon lr=0.01 seed=1"
  std::string arm;            // name of the arm in the sweep file
  std::string point;          // which point of the arm's grid: "lr=0.01"; "" for an only one
  OptimizerConfig optimizer;  // of its last segment
  Seeds seeds;
  std::vector<std::string> segments;  // ids, in order
};

struct PlannedSegment {
  std::string id;
  SegmentConfig config;
};

// What plan.json holds: resolved once, frozen before anything runs, never derived from the sweep
// file again.
struct PlanRecord {
  std::string name;                    // of the sweep
  std::string sweep_file;              // where it came from
  Json sweep;                          // its content as read
  Json store;                          // the store's specification (or {"folder":...}) as read
  std::filesystem::path store_folder;  // absolute
  std::string store_hash;              // identity of the store; "" in a plan that is only shown
  TargetLevel target;
  int64_t checkpoint_every = 100;
  std::vector<PlannedSegment> segments;  // parents before children
  std::vector<PlannedRun> runs;
  std::vector<std::string> notices;
};

JsonObject to_json(const PlanRecord& plan);
void write_plan(const std::filesystem::path& file, const PlanRecord& plan);
PlanRecord read_plan(const std::filesystem::path& file);

}  // namespace draftlab
