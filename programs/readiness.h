#pragma once

#include <cstdint>
#include <iosfwd>

#include "programs/sweep_store.h"
#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// What `run` must find before it writes anything; `plan` asks the same. Throws Error where it
// cannot run: the place of the results is no folder that we may write to, the worker or the target
// model is not there, the device is missing, the disk too small. Tells `out` where the workers may
// need more memory than is free. `store_elsewhere`: it does not lie in the folder.
void require_ready(const RunFolder& folder, const PlanRecord& plan, const SweepStore& store,
                   bool store_elsewhere, int jobs, std::ostream& out);

// Throws Error unless `folder`, or the nearest of its parents that exists, is a folder that we may
// write to.
void require_writable(const std::filesystem::path& folder);

// Bytes of main memory that new processes may take; 0 where the system does not say.
double available_memory();

}  // namespace draftlab
