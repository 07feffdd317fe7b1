#include "programs/readiness.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <ostream>

#include "base/error.h"
#include "programs/execution.h"
#include "programs/worker_program.h"
#include "reports/text/words.h"
#include "runner/estimate.h"
#include "runner/memory.h"
#include "runner/terminal_text.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

void require_device(const PlanRecord& plan) {
  const auto on_gpu = std::ranges::find_if(plan.segments, [](const PlannedSegment& segment) {
    return segment.config.training.device != "cpu";
  });
  if (on_gpu == plan.segments.end()) return;
  const std::string& device = on_gpu->config.training.device;
  if (worker_has_device(device)) return;
  throw Error(
      plan.sweep_file,
      "training.device is \"" + device +
          "\", but this build or machine has no CUDA device; build with scripts/build cuda, "
          "run on a machine with one, or train on \"cpu\"");
}

void tell_memory(const PlanRecord& plan, const SweepStore& store, int jobs, std::ostream& out) {
  double most = 0;
  for (const PlannedSegment& segment : plan.segments)
    most = std::max(most, worker_memory(segment.config, store.tokens_per_sequence()).total());
  const double available = available_memory();
  if (available == 0 || jobs * most <= available) return;
  out << "notice: " << counted(jobs, "worker") << " may need " << bytes_text(jobs * most)
      << " of memory, and " << bytes_text(available) << " are free; lower --jobs" << std::endl;
}

}  // namespace

void require_writable(const fs::path& folder) {
  std::string shown = folder.string();
  if (shown.size() > 200) shown = shown.substr(0, 200) + "...";
  const auto refuse = [&](const std::string& why) {
    throw Error(shown, why + "; name another folder, or make this one accessible");
  };
  fs::path existing = fs::absolute(folder).lexically_normal();
  std::error_code code;
  while (true) {
    const fs::file_status status = fs::status(existing, code);
    if (status.type() == fs::file_type::directory) break;
    const bool absent = status.type() == fs::file_type::not_found && !fs::is_symlink(existing);
    if (fs::exists(status)) refuse(existing.string() + " is a file, not a folder");
    if (!absent) refuse("cannot be used as a folder: " + code.message());
    existing = existing.parent_path();
  }
  if (::access(existing.c_str(), W_OK | X_OK) != 0)
    refuse("cannot be written: " + std::generic_category().message(errno));
}

double available_memory() {
  std::ifstream in("/proc/meminfo");
  std::string name, unit;
  for (double kilobytes = 0; in >> name >> kilobytes; std::getline(in, unit)) {
    if (name == "MemAvailable:") return 1024 * kilobytes;
  }
  return 0;
}

void require_ready(const RunFolder& folder, const PlanRecord& plan, const SweepStore& store,
                   bool store_elsewhere, int jobs, std::ostream& out) {
  require_writable(folder.root());
  require_writable(store.planned.folder);
  worker_program();  // it is there
  if (!store.target.empty() && !fs::exists(store.target)) {
    throw Error(store.target.string(),
                "the target model is not there, and every worker loads its embedding and head; put "
                "it there, or name its place in the store's specification");
  }
  require_device(plan);
  const double store_bytes =
      store.built ? 0 : store.bytes(plan.segments[0].config.drafter.hidden_size);
  require_free_space(store.planned.folder, store_bytes);
  require_free_space(folder.root(), disk_bytes(plan) + (store_elsewhere ? 0 : store_bytes));
  tell_memory(plan, store, jobs, out);
}

}  // namespace draftlab
