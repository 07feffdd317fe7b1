#include <cmath>
#include <iostream>

#include "base/file.h"
#include "base/number_text.h"
#include "base/terminal_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "reports/pipeline/pipeline_findings.h"
#include "reports/pipeline/pipeline_output.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr char kHelp[] =
    "usage: draftlab pipeline SPEC.json [--json] [--csv FILE]\n\n"
    "Producers make hidden states, a bounded queue holds them, consumers train on them: who waits "
    "for\n"
    "whom, how long until the target with each optimizer, how much slower a step may be at no "
    "cost, "
    "and\n"
    "what other numbers of producers and consumers, or a cached store, would change. In closed "
    "form, "
    "and\n"
    "simulated batch by batch. docs/pipeline.md explains SPEC.json and the formulas.\n\n"
    "  draftlab pipeline sweeps/pipeline_story.json\n"
    "  draftlab pipeline sweeps/pipeline_story.json --csv queue.csv   the queue over time\n"
    "  draftlab pipeline sweeps/pipeline_story.json --json            every number\n";

constexpr size_t kWidth = 100, kShownWindows = 5;

void line(const char* key, const std::string& text) {
  std::string name = key;
  name.resize(11, ' ');
  std::cout << wrapped(name, text, kWidth);
}

std::string times_text(const ServiceTimes& times) {
  if (times.kind == ServiceTimes::kExponential) return "exponential times";
  if (times.kind == ServiceTimes::kLognormal) {
    return "lognormal times, deviation " + share_text(times.cv) + " of the mean";
  }
  return "fixed times";
}

void print_specification(const PipelineSpec& spec, const std::string& file) {
  line("pipeline", printable(spec.name) + " (" + printable(file) + ")");
  std::string producers;
  for (const ProducerGroup& group : spec.producers) {
    producers += (producers.empty() ? "" : "; ") + counted(group.count, "producer") + " at " +
                 short_number(group.rate) + " batches/s, " + times_text(group.times);
  }
  line("producers", producers);
  const auto full = static_cast<double>(spec.queue_capacity);
  line("queue",
       "room for " + grouped(spec.queue_capacity) +
           (spec.queue_capacity == 1 ? " batch" : " batches") +
           (spec.bytes_per_batch > 0 ? ", " + bytes_text(full * spec.bytes_per_batch) + " when full"
                                     : ""));
  line("consumers", grouped(spec.topologies[0].consumers) + ", " + times_text(spec.step_times));
  line("training", grouped(std::llround(spec.batches_left())) + " batches left: " +
                       short_number(spec.epochs) + " epochs of " + grouped(spec.batches_per_epoch));
  if (!spec.has(HiddenStates::kCached)) return;
  const auto epoch = static_cast<double>(spec.batches_per_epoch);
  line("store",
       "cached: an epoch" +
           (spec.bytes_per_batch > 0 ? ", " + bytes_text(epoch * spec.bytes_per_batch) : "") +
           ", read at " + short_number(spec.store.rate) + " batches/s; " +
           (spec.store.stored > 0 ? grouped(spec.store.stored) + " batches are in it already; then "
                                  : "once it is whole, ") +
           "the producers " + (spec.store.freed_producers_train ? "join the consumers" : "idle"));
}

std::vector<std::string> place(const PipelineCase& c) {
  return {to_text(c.hidden_states), to_text(c.topology), printable(c.optimizer.name)};
}

std::string waits_text(const SteadyState& state) {
  const std::string waits = who_waits(state);
  if (waits == "consumer") return "C";
  if (waits == "producers") return "P";
  return waits == "both" ? "both" : "-";
}

void print_steady(const PipelineSpec& spec, const std::vector<PipelineCase>& cases) {
  std::vector<std::vector<std::string>> rows;
  for (const PipelineCase& c : cases) {
    for (const PipelinePhase& phase : c.phases) {
      const SteadyState& s = phase.steady;
      std::vector<std::string> row = place(c);
      for (const std::string& text :
           {phase.source, short_number(phase.stage.step_seconds) + " s", short_number(s.supply),
            short_number(s.demand), (s.exact ? "" : "<= ") + short_number(s.throughput),
            share_text(s.producers_busy), share_text(s.consumer_busy), short_number(s.mean_queue),
            spec.bytes_per_batch > 0 ? bytes_text(s.mean_queue * spec.bytes_per_batch) : "-",
            waits_text(s)}) {
        row.push_back(text);
      }
      rows.push_back(row);
    }
  }
  std::cout << "\nsteady state, rates in batches/s; P: producers or store, C: consumers\n"
            << table({"states", "P-C", "optimizer", "from", "step", "supply", "demand", "rate",
                      "P busy", "C busy", "queue", "memory", "waits"},
                     rows,
                     {false, false, false, false, true, true, true, true, true, true, true, true,
                      false});
}

std::string bound(const PipelineCase& c, double seconds) {
  return (c.exact ? "" : ">= ") + pipeline_time_text(seconds);
}

void print_times(const std::vector<PipelineCase>& cases,
                 const std::vector<SimulatedCase>& simulated) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < cases.size(); ++i) {
    const PipelineCase& c = cases[i];
    const PipelineInterval& time = c.seconds_to_target;
    std::vector<std::string> row = place(c);
    for (const std::string& text :
         {bound(c, c.seconds_left), bound(c, c.seconds_to_target.value),
          time.low == time.high ? "-" : pipeline_interval_text(time),
          pipeline_time_text(simulated[i].seconds_to_target.value), share_text(c.free_slowdown),
          share_text(c.even_slowdown), percent_text(c.longer_step_costs),
          percent_text(c.fewer_batches_save)}) {
      row.push_back(text);
    }
    rows.push_back(row);
  }
  std::cout << "\ntimes\n"
            << table({"states", "P-C", "optimizer", "time left", "to target", "interval",
                      "simulated", "free", "even", "1% step", "1% batches"},
                     rows, {false, false, false, true, true, false, true, true, true, true, true})
            << wrapped("free: ", "how much longer a step may take at no cost", kWidth)
            << wrapped("even: ",
                       "how much longer it may take to come with the first optimizer; NaN: no step "
                       "is short enough",
                       kWidth)
            << wrapped("1%: ", "of the time, what a 1% longer step costs and 1% fewer batches save",
                       kWidth);
}

std::string with_error(const Estimate& e) {
  const double half = (e.high - e.low) / 2;
  return short_number(e.mean) +
         (half > 1e-9 * e.mean ? " +- " + number_text(parse_number(significant(half, 1), "")) : "");
}

void print_simulation(const PipelineSpec& spec, const std::vector<PipelineCase>& cases,
                      const std::vector<SimulatedCase>& simulated) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < cases.size(); ++i) {
    for (size_t k = 0; k < simulated[i].phases.size(); ++k) {
      const PipelineSimulation& s = simulated[i].phases[k];
      std::vector<std::string> row = place(cases[i]);
      for (const std::string& text :
           {cases[i].phases[k].source, with_error(s.throughput), share_text(s.producers_busy.mean),
            share_text(s.consumer_busy.mean), with_error(s.mean_queue), grouped(s.max_queue)}) {
        row.push_back(text);
      }
      std::string over_time;
      for (size_t w = 1; w <= kShownWindows; ++w) {
        const size_t at = w * s.windows.size() / kShownWindows - 1;
        over_time += (w > 1 ? " " : "") + short_number(s.windows[at].mean_queue);
      }
      row.push_back(over_time);
      rows.push_back(row);
    }
  }
  std::cout << "\nsimulated, " << grouped(spec.simulation.batches) << " batches a phase, seed "
            << spec.simulation.seed
            << "; +- half a 95% Monte Carlo\ninterval; \"over time\": the queue in the last window "
               "of each fifth, from an empty one\n"
            << table({"states", "P-C", "optimizer", "from", "batches/s", "P busy", "C busy",
                      "queue", "most", "over time"},
                     rows, {false, false, false, false, true, true, true, true, true, false});
}

// Where times vary and no formula is known, what a step that should be free costs after all.
void print_costs(const std::vector<PipelineCase>& cases,
                 const std::vector<SimulatedCase>& simulated) {
  for (size_t i = 0; i < cases.size(); ++i) {
    const PipelineCase& c = cases[i];
    if (c.exact || c.free_slowdown < 1e-3) continue;
    std::cout << wrapped(to_text(c.hidden_states) + " " + to_text(c.topology) + ", " +
                             printable(c.optimizer.name) + ": ",
                         "a step " + share_text(c.free_slowdown) +
                             " longer, free in the limit, costs " +
                             share_text(simulated[i].free_slowdown_cost) + " of the time here",
                         kWidth);
  }
}

}  // namespace

int pipeline_command(const Words& words) {
  CommandLine command_line(kHelp);
  command_line.argument("SPEC.json");
  command_line.flag("json", "print every number as JSON");
  command_line.option("csv", "FILE", "write the simulated queue over time there");
  if (!command_line.parse(words)) return 0;
  const std::string file = command_line.text("SPEC.json");
  const PipelineSpec spec = read_pipeline_spec(file);
  const std::vector<PipelineCase> cases = predict_pipeline(spec);
  std::vector<SimulatedCase> simulated;
  for (const PipelineCase& c : cases) simulated.push_back(simulate(c, spec.simulation));
  if (const auto csv = command_line.optional_text("csv")) {
    replace_file(*csv, pipeline_csv(cases, simulated));
  }
  if (command_line.given("json")) {
    std::cout << pretty(pipeline_json(spec, cases, simulated));
    return 0;
  }
  print_specification(spec, file);
  print_steady(spec, cases);
  print_times(cases, simulated);
  print_simulation(spec, cases, simulated);
  print_costs(cases, simulated);
  std::cout << "\n";
  for (const PipelineFinding& finding : pipeline_findings(cases)) {
    std::cout << printable(finding.about) << "\n"
              << wrapped("  ", printable(finding.text), kWidth) << "\n";
  }
  return 0;
}

}  // namespace draftlab
