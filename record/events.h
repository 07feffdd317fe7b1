#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/append_log.h"

namespace draftlab {

// One life of a worker. Seconds measured in company are not seconds measured alone: overlaps of
// these intervals say which.
struct WorkerEvent {
  std::string segment;
  double start = 0, end = 0;  // seconds since 1970; end 0: still running, or the runner died
  std::string outcome;        // outcome_name; "" while running
  int64_t threads = 1;
};

// events.jsonl grows by one line at each start and one at each end; reading joins them, in order of
// start. Written by the one process that holds the folder's lock.
class EventLog {
 public:
  explicit EventLog(std::filesystem::path file, Disk& disk = real_disk());
  void start(const WorkerEvent& event);
  void end(const WorkerEvent& event);

 private:
  AppendLog log_;
};
// Nothing recorded yet gives an empty list. A torn last line is ignored.
std::vector<WorkerEvent> read_events(const std::filesystem::path& file);

}  // namespace draftlab
