#include "runner/progress_display.h"

#include <algorithm>
#include <unordered_map>

#include "base/number_text.h"
#include "base/terminal_text.h"
#include "record/progress.h"
#include "record/timing.h"
#include "runner/estimate.h"

namespace draftlab {
namespace {

constexpr double kLiveSeconds = 0.25, kPlainSeconds = 60;  // between two updates

std::string rate_text(double steps_per_second) {
  return steps_per_second >= 1 || steps_per_second <= 0
             ? significant(steps_per_second, 2) + " steps/s"
             : significant(1 / steps_per_second, 2) + " s/step";
}

std::vector<std::string> segment_names(const PlanRecord& plan) {
  std::unordered_map<std::string, std::vector<const PlannedRun*>> runs;
  for (const PlannedRun& run : plan.runs) {
    for (const std::string& id : run.segments) runs[id].push_back(&run);
  }
  std::vector<std::string> names;
  for (const PlannedSegment& segment : plan.segments) {
    const auto& users = runs[segment.id];
    std::string name = users.empty() ? segment.id : printable(users[0]->name);
    if (!users.empty() && users[0]->segments.size() > 1) {
      name += " to step " + std::to_string(segment.config.to_step);
    }
    if (users.size() > 1) name += " (and " + std::to_string(users.size() - 1) + " more)";
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

ProgressDisplay::ProgressDisplay(const PlanRecord& plan, RunFolder folder, int jobs,
                                 std::ostream& out, std::function<size_t()> width)
    : plan_(plan),
      folder_(std::move(folder)),
      jobs_(jobs),
      out_(out),
      width_(std::move(width)),
      segments_(plan.segments.size()),
      names_(segment_names(plan)) {
  for (const PlannedSegment& segment : plan.segments)
    kinds_of_step_.push_back(step_identity(segment.config));
}

void ProgressDisplay::line(const std::string& text) {
  if (width_) out_ << "\r\033[K";
  out_ << text << "\n" << std::flush;
  last_shown_ = width_ ? 0 : last_shown_;  // the live line comes back at the next tick
}

void ProgressDisplay::finished_before(size_t segment) {
  segments_[segment].state = State::kEnded;
  ++ended_;
}

void ProgressDisplay::started(size_t segment, double now) {
  Segment& each = segments_[segment];
  const SegmentConfig& config = plan_.segments[segment].config;
  each.state = State::kRunning;
  each.start = now;
  each.first_step = SegmentFolder(folder_, plan_.segments[segment].id)
                        .last_checkpoint()
                        .value_or(config.from_step);
  each.step = each.first_step;
  running_.push_back(segment);
  if (last_shown_ == 0) last_shown_ = now;
  line(
      "start        " + names_[segment] +
      (each.first_step > config.from_step ? ", from step " + std::to_string(each.first_step) : ""));
}

void ProgressDisplay::ended(size_t segment, const Outcome& outcome, double now) {
  Segment& each = segments_[segment];
  each.state = State::kEnded;
  ++ended_;
  running_.erase(std::remove(running_.begin(), running_.end(), segment), running_.end());
  const double seconds = now - each.start;
  const int64_t steps = outcome.step - each.first_step;
  std::string text = outcome_name(outcome.kind);
  text.resize(13, ' ');
  text += names_[segment] + ": step " + std::to_string(outcome.step);
  if (!outcome.reason.empty()) text += ": " + printable(outcome.reason);
  if (each.start > 0) {
    text += ", " + duration_text(seconds);
    if (steps > 0 && seconds > 0) {
      text += " (" + rate_text(static_cast<double>(steps) / seconds) + ")";
      seconds_per_step_[kinds_of_step_[segment]] = seconds / static_cast<double>(steps);
    }
  }
  if (outcome.kind == OutcomeKind::kFailed) {
    text += "; see " + SegmentFolder(folder_, plan_.segments[segment].id).log().string();
  }
  line(text);
  for (const std::string& notice : outcome.notices) line("             " + printable(notice));
}

void ProgressDisplay::blocked(size_t segment, const std::string& cause) {
  segments_[segment].state = State::kEnded;
  line("not run      " + names_[segment] + ": it starts from segment " + cause +
       ", which is not done");
}

void ProgressDisplay::stopping(int workers, double grace_seconds) {
  line("stopping: " + std::to_string(workers) + " running write a checkpoint and end; after " +
       duration_text(grace_seconds) + ", or a second Ctrl-C, they are killed");
}

void ProgressDisplay::tick(double now) {
  if (now - last_shown_ < (width_ ? kLiveSeconds : kPlainSeconds)) return;
  last_shown_ = now;
  read_running();
  if (width_) {
    const size_t width = width_();
    out_ << "\r\033[K" << cut(live_line(), width > 1 ? width - 1 : 1) << std::flush;
  } else if (!running_.empty()) {
    out_ << live_line() << "\n" << std::flush;
  }
}

void ProgressDisplay::close() {
  if (width_) out_ << "\r\033[K" << std::flush;
}

void ProgressDisplay::read_running() {
  for (const size_t index : running_) {
    const PlannedSegment& planned = plan_.segments[index];
    const auto progress = read_progress(SegmentFolder(folder_, planned.id).progress());
    if (!progress) continue;
    segments_[index].step = std::max(segments_[index].step, progress->step);
    segments_[index].steps_per_second = progress->steps_per_second;
    if (progress->steps_per_second > 0) {
      seconds_per_step_[kinds_of_step_[index]] = 1 / progress->steps_per_second;
    }
  }
}

int64_t ProgressDisplay::steps_left(size_t segment) const {
  const SegmentConfig& config = plan_.segments[segment].config;
  const Segment& each = segments_[segment];
  if (each.state == State::kEnded) return 0;
  return config.to_step - std::max(each.step, config.from_step);
}

std::optional<double> ProgressDisplay::seconds_left() const {
  if (seconds_per_step_.empty()) return std::nullopt;
  double mean = 0;
  for (const auto& [kind, seconds] : seconds_per_step_) mean += seconds / seconds_per_step_.size();
  std::vector<double> left;
  for (size_t i = 0; i < segments_.size(); ++i) {
    const auto known = seconds_per_step_.find(kinds_of_step_[i]);
    left.push_back(static_cast<double>(steps_left(i)) *
                   (known == seconds_per_step_.end() ? mean : known->second));
  }
  return wall_time(plan_, left, jobs_);
}

std::string ProgressDisplay::counts() const {
  std::string text = std::to_string(ended_) + " of " + std::to_string(segments_.size()) + " done";
  if (const auto left = seconds_left()) text += ", about " + duration_text(*left) + " left";
  return text;
}

std::string ProgressDisplay::live_line() const {
  std::string text = counts();
  for (const size_t index : running_) {
    const Segment& each = segments_[index];
    text += " | " + names_[index] + " " + std::to_string(each.step) + "/" +
            std::to_string(plan_.segments[index].config.to_step);
    if (each.steps_per_second > 0) text += " " + rate_text(each.steps_per_second);
  }
  return text;
}

}  // namespace draftlab
