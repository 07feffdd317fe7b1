#include "runner/estimate.h"

#include <algorithm>
#include <unordered_map>

#include "record/events.h"
#include "record/layers/layer_kind.h"
#include "record/timing.h"
#include "record/update_cost.h"

namespace draftlab {
namespace {

constexpr double kBytesPerRow = 400;  // of metrics.jsonl
constexpr double kStartSeconds = 1;   // of a worker: loading libtorch, reading the store

int64_t elements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t side : shape) count *= side;
  return count;
}

// One pass over `blocks` blocks of sequences with `context` tokens in all; a multiplication and an
// addition are two operations.
struct Pass {
  double layers = 0;  // linear layers and what mixes tokens
  double head = 0;    // the frozen head on slots 1..B-1
};

Pass one_pass(const DrafterConfig& drafter, double blocks, double context,
              double tokens_per_sequence) {
  const double h = drafter.hidden_size;
  const double rows = blocks * drafter.block_size;
  // An anchor stands in the middle on average.
  const LayerPass seen{
      .block_rows = rows, .context_rows = context, .before = tokens_per_sequence / 2};
  Pass pass;
  pass.layers = 2 * context * drafter.num_taps * h * h;  // fc
  for (const std::string& type : drafter.layer_types) {
    pass.layers += 2 * rows * 3 * h * drafter.intermediate_size +
                   layer_kind(type, "drafter.layer_types").operations(drafter, seen);
  }
  pass.head = 2 * blocks * (drafter.block_size - 1) * h * drafter.draft_vocab_size;
  return pass;
}

}  // namespace

StepCount count_steps(const PlanRecord& plan) {
  std::unordered_map<std::string, int64_t> steps, users;
  StepCount count;
  for (const PlannedSegment& segment : plan.segments) {
    steps[segment.id] = segment.config.to_step - segment.config.from_step;
    count.segment_steps += steps[segment.id];
  }
  for (const PlannedRun& run : plan.runs) {
    for (const std::string& id : run.segments) {
      count.run_steps += steps.at(id);
      if (++users[id] == 2) ++count.shared_segments;
    }
  }
  return count;
}

double checkpoint_bytes(const SegmentConfig& config) {
  double weights = 0;
  for (const Route& route : config.routing) weights += static_cast<double>(elements(route.shape));
  return 4 * weights + update_cost(config.routing, config.optimizer).state_bytes;
}

double disk_bytes(const SegmentConfig& config) {
  // Two splits are evaluated, and there are no more kinds of layer than tensors.
  const size_t rows_per_evaluation = 2 + config.routing.size();
  const double rows = static_cast<double>(config.to_step - config.from_step) +
                      static_cast<double>(rows_per_evaluation * config.evaluation.steps.size());
  return 2 * checkpoint_bytes(config) + kBytesPerRow * rows;
}

double disk_bytes(const PlanRecord& plan) {
  double bytes = 0;
  for (const PlannedSegment& segment : plan.segments) bytes += disk_bytes(segment.config);
  return bytes;
}

double step_flop(const SegmentConfig& config, double tokens_per_sequence) {
  const double sequences = config.training.sequences_per_step;
  const Pass pass = one_pass(config.drafter, sequences * config.training.anchors,
                             sequences * tokens_per_sequence, tokens_per_sequence);
  // The head: logits and gradient; for a loss of two distributions the target's logits too.
  const double heads = config.training.loss.needs_target() ? 3 : 2;
  return 3 * pass.layers + heads * pass.head + update_cost(config.routing, config.optimizer).flop;
}

double evaluation_flop(const SegmentConfig& config, double tokens_per_sequence) {
  const double sequences = config.split.tuning + config.split.held_out;
  const double context = sequences * tokens_per_sequence;
  const Pass pass =
      one_pass(config.drafter, context / config.evaluation.stride, context, tokens_per_sequence);
  const auto count = std::count_if(
      config.evaluation.steps.begin(), config.evaluation.steps.end(), [&](int64_t step) {
        return (step > config.from_step || config.from_step == 0) && step <= config.to_step;
      });
  return static_cast<double>(count) * (pass.layers + pass.head);
}

double assumed_flop_per_second(const TrainingConfig& training) {
  return training.device == "cuda" ? 2e13 : 8e10 * static_cast<double>(training.threads);
}

std::map<std::string, double> measured_seconds_per_step(const RunFolder& folder,
                                                        const PlanRecord& plan) {
  std::unordered_map<std::string, std::vector<WorkerEvent>> lives;
  for (WorkerEvent& event : read_events(folder.events())) {
    lives[event.segment].push_back(std::move(event));
  }
  std::map<std::string, double> seconds, steps;
  for (const PlannedSegment& segment : plan.segments) {
    const auto found = lives.find(segment.id);
    if (found == lives.end()) continue;
    const WorkerEvent& life = found->second[0];
    if (life.end == 0 || life.outcome != "done") continue;
    const std::string step = step_identity(segment.config);
    seconds[step] += life.end - life.start;
    steps[step] += static_cast<double>(segment.config.to_step - segment.config.from_step);
  }
  for (auto& [step, value] : seconds) value /= steps.at(step);
  return seconds;
}

double wall_time(const PlanRecord& plan, const std::vector<double>& seconds, int jobs) {
  std::unordered_map<std::string, double> chains;  // up to the end of a segment
  double total = 0, longest = 0;
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    const PlannedSegment& segment = plan.segments[i];
    const auto parent = chains.find(segment.config.parent);
    const double chain = seconds[i] + (parent == chains.end() ? 0 : parent->second);
    chains[segment.id] = chain;
    total += seconds[i];
    longest = std::max(longest, chain);
  }
  return std::max(total / jobs, longest);
}

TimeEstimate estimate_time(const PlanRecord& plan, int jobs, double tokens_per_sequence,
                           const std::map<std::string, double>& seconds_per_step) {
  TimeEstimate estimate{0, true};
  std::vector<double> all;
  for (const PlannedSegment& segment : plan.segments) {
    const SegmentConfig& config = segment.config;
    const double steps = static_cast<double>(config.to_step - config.from_step);
    double seconds = 0;
    if (const auto known = seconds_per_step.find(step_identity(config));
        known != seconds_per_step.end()) {
      seconds = steps * known->second;
    } else {
      estimate.measured = false;
      seconds = kStartSeconds + (steps * step_flop(config, tokens_per_sequence) +
                                 evaluation_flop(config, tokens_per_sequence)) /
                                    assumed_flop_per_second(config.training);
    }
    all.push_back(seconds);
  }
  estimate.seconds = wall_time(plan, all, jobs);
  return estimate;
}

}  // namespace draftlab
