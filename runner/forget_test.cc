#include "runner/forget.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "runner/worker_lock.h"
#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "a" forks into "b" and "c"; "alone" stands by itself.
PlanRecord forked_plan() {
  PlanRecord plan;
  const auto segment = [&](const char* id, const char* parent) {
    plan.segments.push_back({id, {}});
    plan.segments.back().config.parent = parent;
  };
  segment("a", "");
  segment("b", "a");
  segment("c", "a");
  segment("alone", "");
  const auto run = [&](const char* name, std::vector<std::string> segments) {
    plan.runs.push_back({.name = name, .segments = std::move(segments)});
  };
  run("B", {"a", "b"});
  run("C", {"a", "c"});
  run("D", {"alone"});
  return plan;
}

TEST(Forget, WhatARunSharesIsNotItsOwnAndWhatStartsFromASegmentGoesWithIt) {
  const PlanRecord plan = forked_plan();
  EXPECT_THAT(own_segments(plan, {"B"}), ElementsAre("b"));
  EXPECT_THAT(own_segments(plan, {"B", "C"}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(own_segments(plan, {}), IsEmpty());
  EXPECT_THAT(with_descendants(plan, {"a"}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(with_descendants(plan, {"b"}), ElementsAre("b"));
}

TEST(Forget, RemovesTheseSegmentsAloneAndNoneThatAWorkerTrains) {
  ScratchFolder scratch;
  const RunFolder folder(scratch.path());
  const PlanRecord plan = forked_plan();
  for (const PlannedSegment& segment : plan.segments) {
    make_folder(SegmentFolder(folder, segment.id).root());
    replace_file(SegmentFolder(folder, segment.id).log(), "x");
  }
  const auto there = [&](const char* id) {
    return std::filesystem::exists(SegmentFolder(folder, id).log());
  };
  {
    const WorkerLock working(SegmentFolder(folder, "c").lock());
    EXPECT_THAT(message_of([&] {
                  forget(folder, plan, {"b", "c"});
                }),
                HasSubstr("a worker still trains this segment"));
    EXPECT_TRUE(there("b")) << "all or nothing";
  }
  forget(folder, plan, {"b", "c"});
  EXPECT_TRUE(there("a") && there("alone"));
  EXPECT_FALSE(there("b") || there("c"));
  EXPECT_NO_THROW(forget(folder, plan, {"b"})) << "what is not there";
}

}  // namespace
}  // namespace draftlab
