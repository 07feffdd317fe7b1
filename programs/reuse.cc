#include "programs/reuse.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal_text.h"
#include "record/events.h"
#include "record/lives.h"
#include "record/metrics.h"
#include "record/origin.h"
#include "record/segment_state.h"
#include "reports/study/company.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

// What one segment is like in a folder that may give it.
enum class Offer { kNone, kOtherBuild, kDamaged, kFinished };

Offer offer_of(const SegmentFolder& segment, bool any_build) {
  if (!fs::exists(segment.outcome())) return Offer::kNone;
  try {
    const auto outcome = read_outcome(segment.outcome(), segment.id());
    if (!outcome || !is_result(outcome->kind)) return Offer::kNone;
    read_metrics(segment.metrics(), outcome->metrics_sha256);
    const auto lives = contributing(read_lives(segment.provenance()));
    if (!any_build && !std::ranges::all_of(lives, is_of_this_build)) return Offer::kOtherBuild;
    return Offer::kFinished;
  } catch (const Error&) {
    return Offer::kDamaged;
  }
}

void sync(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  if (descriptor >= 0) ::close(descriptor);
  if (!synced) throw Error(path.string(), "cannot be synced to the disk");
}

// All of it or nothing: a folder of another name until every file is on the disk.
void copy_segment(const SegmentFolder& from, const SegmentFolder& to, const Origin& origin) {
  fs::path half = to.root();
  half += ".taken";
  fs::remove_all(half);
  make_folder(half);
  fs::copy(from.root(), half, fs::copy_options::recursive);
  fs::remove(SegmentFolder(half).lock());
  remove_temporaries(half);
  if (!fs::exists(from.origin()))  // else it says where the segment was trained already
    write_origin(SegmentFolder(half).origin(), origin);
  for (const auto& entry : fs::recursive_directory_iterator(half)) sync(entry.path());
  sync(half);
  fs::remove_all(to.root());
  fs::rename(half, to.root());
  sync(to.root().parent_path());
}

struct Found {
  std::map<std::string, const RunFolder*> givers;  // by segment
  int64_t other_build = 0, damaged = 0;            // that no folder could give otherwise
};

Found find_finished(const Reuse& reuse, const RunFolder& folder, const PlanRecord& plan) {
  Found found;
  for (const PlannedSegment& segment : plan.segments) {
    const auto own = outcome_on_disk(SegmentFolder(folder, segment.id));
    if (own && is_result(own->kind)) continue;
    Offer best = Offer::kNone;
    for (const RunFolder& giver : reuse.folders) {
      const Offer offer = offer_of(SegmentFolder(giver, segment.id), reuse.any_build);
      if (offer == Offer::kFinished) found.givers.emplace(segment.id, &giver);
      best = std::max(best, offer);
    }
    found.other_build += best == Offer::kOtherBuild;
    found.damaged += best == Offer::kDamaged;
  }
  return found;
}

std::string text_of(const Found& found, const PlanRecord& plan, const std::string& taken) {
  std::map<std::string, int64_t> by_folder;
  for (const auto& [id, giver] : found.givers) ++by_folder[printable(giver->root().string())];
  std::string text;
  const std::string all = " of " + counted(static_cast<int64_t>(plan.segments.size()), "segment");
  for (const auto& [folder, count] : by_folder)
    text += taken + " from " + folder + ": " + std::to_string(count) + all + "\n";
  if (found.givers.empty()) text += "nothing to take from the folders of --reuse\n";
  if (found.other_build > 0) {
    text += counted(found.other_build, "segment") + " there " +
            (found.other_build == 1 ? "is" : "are") +
            " of another build of draftlab and trained anew; --any-build takes them\n";
  }
  if (found.damaged > 0)
    text += counted(found.damaged, "segment") + " there cannot be read whole, and " +
            (found.damaged == 1 ? "is" : "are") + " trained anew\n";
  return text;
}

}  // namespace

Reuse reuse_of(const CommandLine& line) {
  Reuse reuse{.any_build = line.given("any-build")};
  for (const std::string& folder : line.texts("reuse")) {
    reuse.folders.emplace_back(folder);
    read_first_phase(reuse.folders.back());  // it is a result folder, before anything is written
  }
  if (reuse.any_build && reuse.folders.empty())
    throw UsageError("--any-build says nothing without --reuse DIR");
  return reuse;
}

void take_finished(const Reuse& reuse, const RunFolder& folder, const PlanRecord& plan,
                   std::ostream& out) {
  if (reuse.folders.empty()) return;
  const Found found = find_finished(reuse, folder, plan);
  std::map<const RunFolder*, std::map<std::string, bool>> company;
  std::map<const RunFolder*, std::map<std::string, int64_t>> workers;
  for (const RunFolder& giver : reuse.folders) {
    const std::vector<WorkerEvent> events = read_events(giver.events());
    company[&giver] = segments_in_company(events);
    for (const WorkerEvent& event : events) ++workers[&giver][event.segment];
  }
  make_folder(folder.segments());
  for (const auto& [id, giver] : found.givers) {
    Origin origin{.folder = fs::absolute(giver->root()).lexically_normal().string()};
    if (const auto known = company[giver].find(id); known != company[giver].end()) {
      origin.alone = !known->second;
      origin.workers = workers[giver][id];
    }
    copy_segment(SegmentFolder(*giver, id), SegmentFolder(folder, id), origin);
  }
  out << text_of(found, plan, "taken") << std::flush;
}

std::string reuse_text(const Reuse& reuse, const RunFolder& folder, const PlanRecord& plan) {
  return text_of(find_finished(reuse, folder, plan), plan, "would be taken");
}

}  // namespace draftlab
