#include "reports/tables/tensorboard.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "reports/tables/event_file.h"

namespace draftlab {
namespace {

constexpr char kFile[] = "events.out.tfevents.draftlab";

// The rows of one segment as events, in step order. `seconds`: of training, before and after.
void add_events(const Metrics& metrics, double start, int64_t& last_step, double& seconds,
                std::string& file) {
  auto evaluation = metrics.evaluations.begin();
  const auto add_evaluations = [&](int64_t step) {
    for (; evaluation != metrics.evaluations.end() && evaluation->step <= step; ++evaluation) {
      // A segment evaluates its first step again, which is its parent's last.
      if (evaluation->step <= last_step) continue;
      const std::string split = evaluation->split + "/";
      const std::string loss = split + "loss", length = split + "acceptance_length";
      const std::string argmax = length + "_argmax";
      file += scalar_event(start + evaluation->train_seconds, evaluation->step,
                           {{loss, evaluation->loss},
                            {length, evaluation->acceptance_length},
                            {argmax, evaluation->acceptance_length_argmax}});
      if (!evaluation->expected_acceptance.empty()) {
        file += scalar_event(
            start + evaluation->train_seconds, evaluation->step,
            {{split + "expected_acceptance_length", evaluation->expected_acceptance_length}});
      }
    }
  };
  for (const StepRow& row : metrics.steps) {
    add_evaluations(row.step - 1);
    seconds += row.data_seconds + row.model_seconds + row.optimizer_seconds;
    file += scalar_event(start + seconds, row.step,
                         {{"train/loss", row.loss},
                          {"train/learning_rate", row.learning_rate},
                          {"train/gradient_norm", row.gradient_norm}});
  }
  add_evaluations(INT64_MAX);
  if (!metrics.evaluations.empty())
    last_step = std::max(last_step, metrics.evaluations.back().step);
}

// When a worker first started on each segment.
std::map<std::string, double> starts_of(const RunFolder& folder) {
  std::map<std::string, double> starts;
  for (const WorkerEvent& event : read_events(folder.events()))
    starts.try_emplace(event.segment, event.start);
  return starts;
}

// Empty where the run has not started.
std::string event_file(const RunFolder& folder, const PlannedRun& run,
                       const std::map<std::string, double>& starts) {
  const auto found = starts.find(run.segments.front());
  const double start = found == starts.end() ? 0 : found->second;
  std::string file;
  int64_t last_step = -1;  // evaluated so far
  double seconds = 0;
  for (const std::string& id : run.segments) {
    const SegmentFolder segment(folder, id);
    if (!std::filesystem::exists(segment.metrics())) break;
    if (file.empty()) file = event_file_version(start);
    add_events(read_metrics(segment.metrics()), start, last_step, seconds, file);
  }
  return file;
}

}  // namespace

std::string tensorboard_folder(const std::string& run) {
  constexpr size_t kLongest = 100;
  std::string name = run.substr(0, kLongest);
  for (char& c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && std::string_view(" -_.,=+()").find(c) == std::string_view::npos) c = '_';
  }
  if (name.starts_with('.')) name[0] = '_';
  return name == run && !name.empty() ? name : name + "-" + sha256_hex(run).substr(0, 8);
}

std::vector<std::string> write_tensorboard(const Study& study, const std::filesystem::path& out) {
  std::vector<std::string> unreadable;
  make_folder(out);
  for (const Source& source : study.sources) {
    const std::map<std::string, double> starts = starts_of(source.folder);
    for (const PlannedRun& run : source.plan.runs) {
      std::string file;
      // One broken log must not hide the other runs.
      try {
        file = event_file(source.folder, run, starts);
      } catch (const Error&) {
        unreadable.push_back(run.name);
        continue;
      }
      if (file.empty()) continue;
      make_folder(out / tensorboard_folder(run.name));
      replace_file(out / tensorboard_folder(run.name) / kFile, file);
    }
  }
  return unreadable;
}

}  // namespace draftlab
