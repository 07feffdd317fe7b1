#include <algorithm>
#include <iostream>

#include "base/terminal_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "record/plan.h"
#include "runner/status.h"

namespace draftlab {
namespace {

constexpr char kHelp[] =
    "usage: draftlab status DIR... [--json]\n\n"
    "Where each run stands, read from the folders; also while they run and after a crash: step, "
    "last held-out\n"
    "numbers, of running ones the loss of the last step and their pace; then the time left, the "
    "best arm so far and\n"
    "the logs of what runs or failed. A run whose worker has vanished is interrupted, not "
    "running.\n\n"
    "  draftlab status runs/quick\n"
    "  draftlab status runs/*\n"
    "  watch draftlab status runs/quick\n";

struct Folder {
  RunFolder place;
  PlanRecord plan;
  std::string broken;  // why a later phase cannot be read; "": all can
  PlanStatus status;
};

Folder read_folder(const std::string& name) {
  Folder folder{RunFolder(name), {}, "", {}};
  folder.plan = read_plan(folder.place, folder.broken);
  folder.status = read_status(folder.place, folder.plan);
  return folder;
}

bool all_ended(const std::vector<RunStatus>& runs) {
  return std::ranges::all_of(
      runs, [](const RunStatus& run) { return run.state == "done" || run.state == "diverged"; });
}

void print(const Folder& folder) {
  std::cout << text_of(folder.status.runs);
  const std::string best = best_so_far(folder.status.runs, folder.plan);
  const bool ended = all_ended(folder.status.runs);
  if (const auto& left = folder.status.seconds_left)
    std::cout << "about " << duration_text(*left) << " left\n";
  if (!best.empty()) {
    std::cout << "ahead" << (ended ? ": " : " so far: ") << best
              << " (draftlab answer says what may be claimed)\n";
  }
  for (const RunStatus& run : folder.status.runs) {
    if ((run.state == "running" || run.state == "failed") && !run.log.empty())
      std::cout << "log of " << printable(run.run) << ": "
                << (folder.place.root() / run.log).string() << "\n";
  }
  for (const std::string& change : folder.plan.changes)
    std::cout << "set " << printable(change) << "\n";
  if (!folder.broken.empty()) {
    std::cout << "a later phase cannot be read, and its runs are not shown: "
              << printable(folder.broken) << "\n";
  }
}

Json json_of(const Folder& folder) {
  const auto& left = folder.status.seconds_left;
  return JsonObject{{"folder", folder.place.root().string()},
                    {"name", folder.plan.name},
                    {"seconds_left", left ? Json(*left) : Json(nullptr)},
                    {"best_so_far", best_so_far(folder.status.runs, folder.plan)},
                    {"broken", folder.broken},
                    {"runs", to_json(folder.status.runs)}};
}

}  // namespace

int status_command(const Words& words) {
  CommandLine line(kHelp);
  line.arguments("DIR");
  line.flag("json", "as a JSON list with an object for each folder");
  if (!line.parse(words)) return 0;
  const std::vector<std::string> names = line.texts("DIR");
  int status = 0;
  JsonArray list;
  for (const std::string& name : names) {
    const Folder folder = read_folder(name);
    if (!folder.broken.empty()) status = 1;
    if (line.given("json")) {
      list.push_back(json_of(folder));
      continue;
    }
    if (names.size() > 1) std::cout << (name == names[0] ? "" : "\n") << name << "\n";
    print(folder);
  }
  if (line.given("json")) std::cout << pretty(list);
  return status;
}

}  // namespace draftlab
