#pragma once

#include <filesystem>
#include <string>

namespace draftlab {

// draftlab-worker, which lies beside this program. Throws Error if it is not there.
std::filesystem::path worker_program();

// Throws Error unless the worker can train on this device ("cpu", "cuda"); its reason is shown.
// Asks it where that takes libtorch.
void require_worker_device(const std::string& device);

// Builds or finishes a store with the worker; its progress is shown unless `quiet`, its errors
// always. Throws Error if it does not succeed.
void build_store_with_worker(const std::filesystem::path& specification,
                             const std::filesystem::path& folder, bool quiet = false);

}  // namespace draftlab
