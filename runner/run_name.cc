#include "runner/run_name.h"

#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/terminal_text.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostListed = 6;

std::string listed_names(const std::vector<const PlannedRun*>& runs) {
  std::string text;
  for (size_t i = 0; i < runs.size() && i < kMostListed; ++i)
    text += "\n  " + printable(runs[i]->name) + "  " + runs[i]->segments.back();
  if (runs.size() > kMostListed)
    text += "\n  and " + std::to_string(runs.size() - kMostListed) + " more";
  return text;
}

// Where links lead, by their names.
std::map<std::string, fs::path> links_of(const PlanRecord& plan) {
  std::map<std::string, fs::path> links;
  for (const PlannedRun& run : plan.runs) {
    for (const std::string& id : run.segments) {
      std::string name = file_name_of(run.name);
      if (run.segments.size() > 1) {
        for (const PlannedSegment& segment : plan.segments) {
          if (segment.id == id) name += " to step " + std::to_string(segment.config.to_step);
        }
      }
      const fs::path target = fs::path("..") / "segments" / id;
      const auto [entry, added] = links.emplace(name, target);
      if (!added && entry->second != target) links.emplace(name + " " + id, target);
    }
  }
  return links;
}

}  // namespace

const PlannedRun& find_run(const PlanRecord& plan, const std::string& text) {
  std::vector<const PlannedRun*> found;
  std::vector<std::string> names;
  for (const PlannedRun& run : plan.runs) {
    if (run.name == text) return run;
    names.push_back(run.name);
    if (run.name.starts_with(text) || run.segments.back().starts_with(text)) found.push_back(&run);
  }
  if (found.size() == 1) return *found[0];
  if (found.size() > 1)
    throw Error(text,
                "may be any of these runs; say more of its name or id:" + listed_names(found));
  const std::string near = nearest_name(text, names);
  if (!near.empty()) throw Error(text, "is no run of this folder; did you mean '" + near + "'?");
  for (const PlannedRun& run : plan.runs) found.push_back(&run);
  throw Error(text, "is no run of this folder; its runs are:" + listed_names(found));
}

std::string file_name_of(const std::string& name) {
  std::string text;
  for (const char c : cut(name, 100)) {
    const bool allowed = static_cast<unsigned char>(c) >= 32 && c != '/' && c != 127;
    text += allowed ? c : '_';
  }
  if (text.empty() || text[0] == '.') text.insert(0, "_");
  return text;
}

void link_runs(const RunFolder& folder, const PlanRecord& plan) {
  const std::map<std::string, fs::path> links = links_of(plan);
  std::error_code code;  // links are for people: where they cannot be, nothing is lost
  fs::create_directory(folder.runs(), code);
  std::vector<fs::path> stale;
  for (const auto& entry : fs::directory_iterator(folder.runs(), code)) {
    if (!entry.is_symlink(code)) continue;
    const auto wanted = links.find(entry.path().filename().string());
    if (wanted == links.end() || fs::read_symlink(entry.path(), code) != wanted->second)
      stale.push_back(entry.path());
  }
  for (const fs::path& link : stale) fs::remove(link, code);
  for (const auto& [name, target] : links) {
    if (!fs::is_symlink(folder.runs() / name))
      fs::create_directory_symlink(target, folder.runs() / name, code);
  }
}

}  // namespace draftlab
