#include "runner/run_clock.h"

#include <algorithm>
#include <chrono>

#include "record/events.h"

namespace draftlab {
namespace {

template <typename Clock>
double seconds() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace

std::function<double()> run_clock(double wall, double latest, std::function<double()> steady) {
  const double offset = std::max(wall, latest) - steady();
  return [offset, steady = std::move(steady)] { return offset + steady(); };
}

std::function<double()> run_clock(const RunFolder& folder) {
  double latest = 0;
  for (const WorkerEvent& event : read_events(folder.events()))
    latest = std::max({latest, event.start, event.end});
  return run_clock(seconds<std::chrono::system_clock>(), latest,
                   seconds<std::chrono::steady_clock>);
}

}  // namespace draftlab
