#include "reports/pipeline/pipeline_output.h"

#include "base/number_text.h"
#include "reports/pipeline/pipeline_findings.h"
#include "reports/text/csv.h"

namespace draftlab {
namespace {

JsonObject interval_json(const PipelineInterval& interval) {
  return {{"value", interval.value}, {"low", interval.low}, {"high", interval.high}};
}

JsonObject estimate_json(const Estimate& e) {
  return {{"value", e.mean}, {"low", e.low}, {"high", e.high}};
}

JsonObject phase_json(const PipelinePhase& phase, const PipelineSimulation& simulation,
                      double bytes_per_batch) {
  const SteadyState& s = phase.steady;
  JsonObject json = {{"source", phase.source},
                     {"batches", phase.batches},
                     {"step_seconds", phase.stage.step_seconds},
                     {"supply", s.supply},
                     {"demand", s.demand},
                     {"throughput", s.throughput},
                     {"producers_busy", s.producers_busy},
                     {"consumer_busy", s.consumer_busy},
                     {"mean_queue", s.mean_queue},
                     {"waits", who_waits(s)},
                     {"exact", s.exact}};
  if (bytes_per_batch > 0) json["mean_queue_bytes"] = s.mean_queue * bytes_per_batch;
  json["simulated"] = {{"throughput", estimate_json(simulation.throughput)},
                       {"producers_busy", estimate_json(simulation.producers_busy)},
                       {"consumer_busy", estimate_json(simulation.consumer_busy)},
                       {"mean_queue", estimate_json(simulation.mean_queue)},
                       {"max_queue", simulation.max_queue}};
  return json;
}

}  // namespace

Json pipeline_json(const PipelineSpec& spec, const std::vector<PipelineCase>& cases,
                   const std::vector<SimulatedCase>& simulated) {
  JsonArray list;
  for (size_t i = 0; i < cases.size(); ++i) {
    const PipelineCase& c = cases[i];
    JsonArray phases;
    for (size_t k = 0; k < c.phases.size(); ++k) {
      phases.push_back(phase_json(c.phases[k], simulated[i].phases[k], spec.bytes_per_batch));
    }
    list.push_back({{"hidden_states", to_text(c.hidden_states)},
                    {"producers", c.topology.producers},
                    {"consumers", c.topology.consumers},
                    {"optimizer", c.optimizer.name},
                    {"phases", std::move(phases)},
                    {"exact", c.exact},
                    {"seconds_left", c.seconds_left},
                    {"batches_to_target", interval_json(c.optimizer.batches_to_target)},
                    {"seconds_to_target", interval_json(c.seconds_to_target)},
                    {"simulated_seconds_to_target", interval_json(simulated[i].seconds_to_target)},
                    {"free_slowdown", c.free_slowdown},
                    {"simulated_free_slowdown_cost", simulated[i].free_slowdown_cost},
                    {"even_slowdown", c.even_slowdown},
                    {"fewer_batches_save_percent", c.fewer_batches_save},
                    {"longer_step_costs_percent", c.longer_step_costs}});
  }
  JsonArray findings;
  for (const PipelineFinding& finding : pipeline_findings(cases)) {
    findings.push_back({{"about", finding.about}, {"text", finding.text}});
  }
  JsonObject json = {{"name", spec.name},
                     {"batches_left", spec.batches_left()},
                     {"queue_capacity", spec.queue_capacity},
                     {"seed", spec.simulation.seed}};
  if (spec.bytes_per_batch > 0) {
    json["full_queue_bytes"] = spec.bytes_per_batch * static_cast<double>(spec.queue_capacity);
  }
  json["cases"] = std::move(list);
  json["findings"] = std::move(findings);
  return json;
}

std::string pipeline_csv(const std::vector<PipelineCase>& cases,
                         const std::vector<SimulatedCase>& simulated) {
  std::string out =
      "hidden_states,producers,consumers,optimizer,phase,source,window,warmup,end_seconds,seconds,"
      "batches,throughput,producers_busy,producers_blocked,consumer_busy,mean_queue,max_queue\r\n";
  for (size_t i = 0; i < cases.size(); ++i) {
    const PipelineCase& c = cases[i];
    for (size_t k = 0; k < c.phases.size(); ++k) {
      const PipelineSimulation& simulation = simulated[i].phases[k];
      const std::string head =
          to_text(c.hidden_states) + "," + std::to_string(c.topology.producers) + "," +
          std::to_string(c.topology.consumers) + "," + csv_field(c.optimizer.name) + "," +
          std::to_string(k + 1) + "," + c.phases[k].source + ",";
      for (size_t w = 0; w < simulation.windows.size(); ++w) {
        const PipelineWindow& window = simulation.windows[w];
        out += head + std::to_string(w + 1) + "," + (w < simulation.warmup ? "yes" : "no") + ",";
        for (const double number :
             {window.end_seconds, window.seconds, static_cast<double>(window.batches),
              window.throughput, window.producers_busy, window.producers_blocked,
              window.consumer_busy, window.mean_queue}) {
          out += number_text(number) + ",";
        }
        out += std::to_string(window.max_queue) + "\r\n";
      }
    }
  }
  return out;
}

}  // namespace draftlab
