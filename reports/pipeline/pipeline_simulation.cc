#include "reports/pipeline/pipeline_simulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <queue>

#include "base/random.h"

namespace draftlab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Times of one worker's batches, in order.
class Clock {
 public:
  Clock(double mean, const ServiceTimes& times, Random random)
      : mean_(mean), times_(times), random_(random) {
    if (times.kind != ServiceTimes::kLognormal) return;
    // The normal whose exponential has this mean and coefficient of variation.
    sigma_ = std::sqrt(std::log1p(times.cv * times.cv));
    mu_ = std::log(mean) - sigma_ * sigma_ / 2;
  }

  double next() {
    switch (times_.kind) {
      case ServiceTimes::kExponential:
        return -mean_ * std::log1p(-random_.uniform());
      case ServiceTimes::kLognormal:
        return std::exp(mu_ + sigma_ * random_.normal());
      default:
        return mean_;
    }
  }

 private:
  double mean_;
  ServiceTimes times_;
  Random random_;
  double mu_ = 0, sigma_ = 0;
};

class Pipeline {
 public:
  Pipeline(const PipelineStage& stage, uint64_t seed)
      : capacity_(stage.queue_capacity),
        consumer_(stage.step_seconds, stage.step_times, Random(seed, "pipeline consumer")) {
    for (const ProducerGroup& group : stage.sources) {
      for (int64_t i = 0; i < group.count; ++i) {
        const auto number = static_cast<uint64_t>(producers_.size());
        producers_.emplace_back(1 / group.rate, group.times,
                                Random(seed, "pipeline producer", number));
      }
    }
    const auto n = static_cast<double>(producers_.size());
    for (size_t i = 0; i < producers_.size(); ++i) {
      working_.push({(1 - static_cast<double>(i) / n) * producers_[i].next(), i});
    }
  }

  // Until the consumer has finished `batches` more.
  PipelineWindow run(int64_t batches) {
    PipelineWindow window{.batches = batches, .max_queue = queue_};
    const double start = now_;
    double queue = 0, producing = 0, blocked = 0, consuming = 0;  // integrals over time
    for (int64_t done = 0; done < batches;) {
      const double produced = working_.empty() ? kInfinity : working_.top().first;
      const double next = std::min(produced, consumed_);
      const double passed = next - now_;
      queue += passed * static_cast<double>(queue_);
      producing += passed * static_cast<double>(working_.size());
      blocked += passed * static_cast<double>(blocked_.size());
      if (consumed_ < kInfinity) consuming += passed;
      now_ = next;
      if (consumed_ <= produced) {
        consumed_ = kInfinity;
        ++done;
      } else {
        blocked_.push_back(working_.top().second);  // for no time, if there is room
        working_.pop();
      }
      hand_over();
      window.max_queue = std::max(window.max_queue, queue_);
    }
    const auto all = static_cast<double>(producers_.size());
    window.end_seconds = now_;
    window.seconds = now_ - start;
    window.throughput = static_cast<double>(batches) / window.seconds;
    window.producers_busy = producing / window.seconds / all;
    window.producers_blocked = blocked / window.seconds / all;
    window.consumer_busy = consuming / window.seconds;
    window.mean_queue = queue / window.seconds;
    return window;
  }

 private:
  using Event = std::pair<double, size_t>;  // when, which producer

  // Moves batches on until nothing can move: out of blocked hands, into the consumer's.
  void hand_over() {
    while (true) {
      if (consumed_ == kInfinity && queue_ > 0) {
        --queue_;
        consumed_ = now_ + consumer_.next();
      } else if (!blocked_.empty() && queue_ < capacity_) {
        ++queue_;
        working_.push({now_ + producers_[blocked_.front()].next(), blocked_.front()});
        blocked_.pop_front();
      } else {
        return;
      }
    }
  }

  int64_t capacity_, queue_ = 0;
  Clock consumer_;
  std::vector<Clock> producers_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> working_;
  std::deque<size_t> blocked_;  // hold a finished batch; first come, first served
  double now_ = 0, consumed_ = kInfinity;
};

}  // namespace

PipelineSimulation simulate(const PipelineStage& stage, const SimulationOptions& options) {
  Pipeline pipeline(stage, options.seed);
  PipelineSimulation result;
  result.warmup = static_cast<size_t>(options.windows / 10);
  std::vector<double> seconds, producers, consumer, queue;
  const int64_t batches = options.batches / options.windows;
  for (size_t i = 0; i < static_cast<size_t>(options.windows); ++i) {
    const PipelineWindow window = pipeline.run(batches);
    result.windows.push_back(window);
    if (i < result.warmup) continue;
    seconds.push_back(window.seconds);
    producers.push_back(window.producers_busy);
    consumer.push_back(window.consumer_busy);
    queue.push_back(window.mean_queue);
    result.max_queue = std::max(result.max_queue, window.max_queue);
  }
  // All windows hold as many batches, so it is their lengths that average.
  const Estimate length = estimate(seconds);
  const auto count = static_cast<double>(batches);
  result.throughput = {length.n, count / length.mean,
                       count * length.sd / (length.mean * length.mean), count / length.high,
                       length.low > 0 ? count / length.low : kInfinity};
  result.producers_busy = estimate(producers);
  result.consumer_busy = estimate(consumer);
  result.mean_queue = estimate(queue);
  return result;
}

SimulatedCase simulate(const PipelineCase& pipeline, const SimulationOptions& options) {
  const auto seconds_with = [&](const std::vector<PipelineSimulation>& simulations,
                                double Estimate::*throughput) {
    std::vector<PipelinePhase> phases = pipeline.phases;
    for (size_t i = 0; i < phases.size(); ++i) {
      phases[i].steady.throughput = simulations[i].throughput.*throughput;
    }
    return seconds_for(pipeline.optimizer.batches_to_target.value, phases);
  };
  SimulatedCase result;
  std::vector<PipelineSimulation> slower;
  for (const PipelinePhase& phase : pipeline.phases) {
    PipelineStage stage = phase.stage;
    result.phases.push_back(simulate(stage, options));
    stage.step_seconds *= 1 + pipeline.free_slowdown;
    slower.push_back(simulate(stage, options));
  }
  result.seconds_to_target = {seconds_with(result.phases, &Estimate::mean),
                              seconds_with(result.phases, &Estimate::high),
                              seconds_with(result.phases, &Estimate::low)};
  result.free_slowdown_cost =
      seconds_with(slower, &Estimate::mean) / result.seconds_to_target.value - 1;
  return result;
}

}  // namespace draftlab
