#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "programs/command_line.h"
#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// Result folders whose finished segments a sweep may take instead of training them: --reuse.
struct Reuse {
  std::vector<RunFolder> folders;
  bool any_build = false;  // also what another build of draftlab trained
};

// What --reuse and --any-build say. Throws Error for a folder without a plan.
Reuse reuse_of(const CommandLine& line);

// Takes every segment that the plan has, this folder lacks and one of those has finished: the same
// id, so the same configuration, seeds, data and past; with its outcome and rows whole, as their
// hashes say. It is copied, since logs grow in place and either folder may be moved or removed;
// its checkpoints, provenance and timing come with it, and origin.json says from where. Tells `out`
// how many were taken and how many not, and why.
void take_finished(const Reuse& reuse, const RunFolder& folder, const PlanRecord& plan,
                   std::ostream& out);

// What take_finished() would tell, without taking.
std::string reuse_text(const Reuse& reuse, const RunFolder& folder, const PlanRecord& plan);

}  // namespace draftlab
