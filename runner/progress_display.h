#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "record/outcome.h"
#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// What a user sees of a sweep while it runs. On a terminal one line is rewritten in place below the
// lines that stay; elsewhere there are only lines that stay, with a summary now and then.
// All times are seconds since 1970.
class ProgressDisplay {
 public:
  // `plan` and `out` must outlive it. `jobs`: workers at once. `width`: columns of the terminal,
  // asked for anew at each line; without it there is no live line.
  ProgressDisplay(const PlanRecord& plan, RunFolder folder, int jobs, std::ostream& out,
                  std::function<size_t()> width = nullptr);

  // `segment` is an index into the plan's segments.
  void finished_before(size_t segment);
  void started(size_t segment, double now);
  void ended(size_t segment, const Outcome& outcome, double now);
  void blocked(size_t segment, const std::string& cause);
  void stopping(int workers, double grace_seconds);
  // Call a few times a second.
  void tick(double now);
  // Removes the live line.
  void close();

  // Seconds until all is done, from the steps left and the seconds per step last seen of each kind
  // of step (record/timing.h), the mean where one was not seen yet; nothing before the first was.
  std::optional<double> seconds_left() const;

 private:
  enum class State { kWaiting, kRunning, kEnded };
  struct Segment {
    State state = State::kWaiting;
    double start = 0;
    int64_t first_step = 0;  // where this life began
    int64_t step = 0;        // last seen
    double steps_per_second = 0;
  };
  void line(const std::string& text);
  std::string live_line() const;
  std::string counts() const;
  int64_t steps_left(size_t segment) const;
  void read_running();

  const PlanRecord& plan_;
  RunFolder folder_;
  int jobs_;
  std::ostream& out_;
  std::function<size_t()> width_;
  std::vector<Segment> segments_;
  std::vector<std::string> names_;  // of a segment: its first run's, and how many others share it
  std::vector<std::string> kinds_of_step_;  // of a segment: step_identity
  std::vector<size_t> running_;
  std::map<std::string, double> seconds_per_step_;  // by kind of step, the last seen
  size_t ended_ = 0;
  double last_shown_ = 0;
};

}  // namespace draftlab
