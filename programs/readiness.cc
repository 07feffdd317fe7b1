#include "programs/readiness.h"

#include <unistd.h>

#include <fstream>
#include <ostream>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal_text.h"
#include "programs/execution.h"
#include "programs/worker_program.h"
#include "reports/text/words.h"
#include "runner/estimate.h"
#include "runner/memory.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

void tell_memory(const PlanRecord& plan, const SweepStore& store, int jobs, std::ostream& out) {
  const double most = worker_memory(plan, store.tokens_per_sequence()).total();
  const double available = available_memory();
  if (available == 0 || jobs * most <= available) return;
  out << "notice: " << counted(jobs, "worker") << " may need " << bytes_text(jobs * most)
      << " of memory, and " << bytes_text(available) << " are free; lower --jobs" << std::endl;
}

}  // namespace

void require_writable(const fs::path& folder) {
  const auto refuse = [&](const std::string& why) {
    throw Error(shown(folder), why + "; name another folder, or make this one accessible");
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

void require_place(const RunFolder& folder, const PlanRecord& plan, const SweepStore& store,
                   bool store_elsewhere) {
  require_writable(folder.root());
  const double store_bytes =
      store.built ? 0 : store.bytes(plan.segments[0].config.drafter.hidden_size);
  if (!store.built) {
    require_writable(store.planned.folder);
    require_free_space(store.planned.folder, store_bytes);
  }
  require_free_space(folder.root(), disk_bytes(plan) + (store_elsewhere ? 0 : store_bytes));
}

void require_means(const PlanRecord& plan, const SweepStore& store, int jobs, std::ostream& out) {
  worker_program();  // it is there
  if (!store.target.empty() && !fs::exists(store.target)) {
    throw Error(store.target.string(),
                "the target model is not there, and every worker loads its embedding and head; put "
                "it there, or name its place in the store's specification");
  }
  std::set<std::string> devices;
  for (const PlannedSegment& segment : plan.segments)
    devices.insert(segment.config.training.device);
  for (const std::string& device : devices) require_worker_device(device);
  tell_memory(plan, store, jobs, out);
}

}  // namespace draftlab
