#pragma once

#include <cstdint>
#include <iosfwd>

#include "programs/sweep_store.h"
#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// What `run` must find before it writes anything; `plan` asks the same, as far as it knows the
// places.

// Where results and store will lie: folders that we may write to, with room. A store that is built
// is only read. `store_elsewhere`: it does not lie in the folder. Throws Error.
void require_place(const RunFolder& folder, const PlanRecord& plan, const SweepStore& store,
                   bool store_elsewhere);

// What runs train with: the worker, the target model, the devices. Throws Error where one is
// missing; tells `out` where the workers may need more memory than is free.
void require_means(const PlanRecord& plan, const SweepStore& store, int jobs, std::ostream& out);

// Throws Error unless `folder`, or the nearest of its parents that exists, is a folder that we may
// write to.
void require_writable(const std::filesystem::path& folder);

// Bytes of main memory that new processes may take; 0 where the system does not say.
double available_memory();

}  // namespace draftlab
