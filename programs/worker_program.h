#pragma once

#include <filesystem>
#include <string>

#include "record/segment.h"

namespace draftlab {

// draftlab-worker, which lies beside this program. Throws Error if it is not there.
std::filesystem::path worker_program();

// Throws Error unless the worker can train on this device ("cpu", "cuda"); its reason is shown.
// Asks it where that takes libtorch.
void require_worker_device(const std::string& device);

// Throws Error unless the store can be split like that; the worker's reason is shown. It alone
// knows the words of prompts, so it is asked where a split is by similarity.
void require_worker_split(const std::filesystem::path& store, const SplitConfig& split);

// Builds or finishes a store with the worker; its progress is shown unless `quiet`, its errors
// always. Throws Error if it does not succeed.
void build_store_with_worker(const std::filesystem::path& specification,
                             const std::filesystem::path& folder, bool quiet = false);

}  // namespace draftlab
