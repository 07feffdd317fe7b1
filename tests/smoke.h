#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/plan.h"
#include "record/run_folder.h"
#include "tests/program.h"

namespace draftlab {

// Tests that run the smoke sweep, or a variant of it, with the real programs.
class SmokeTest : public ::testing::Test {
 protected:
  // Writes a copy of sweeps/smoke.json, changed by `change`; its path.
  std::string write_sweep(const std::string& name,
                          const std::function<void(JsonObject&)>& change) const;
  // A sweep of one AdamW arm with these many runs, long enough to be interrupted, checkpointed
  // often.
  std::string write_long_sweep(const std::string& name, int runs) const;
  // The made-up store, built at the first call.
  std::string store();
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // Everything in a folder that must not depend on kills, jobs or time: outcomes, weights hashes,
  // all rows of metrics but their seconds, a line each.
  static std::string numbers_of(const std::string& run_folder);
  // numbers_of the sweep when nobody disturbs it, in path("undisturbed").
  std::string undisturbed(const std::string& sweep);
  // Resumes the folder, which must succeed and end with these numbers.
  static void expect_resumed_as(const std::string& numbers, const std::string& run_folder);
  // Waits until the first segment has a checkpoint of at least this step.
  static void wait_for_checkpoint(const std::string& run_folder, int64_t step);
  static PlanRecord plan_of(const std::string& run_folder);
  static SegmentFolder segment_of(const std::string& run_folder, size_t index);

  TestFolder folder_;
};

}  // namespace draftlab
