#include "testing/synthetic_switch.h"

#include "base/number_text.h"

namespace draftlab {
namespace {

constexpr int64_t kEvery = 10;

std::vector<ParameterShape> shapes(size_t layers) {
  std::vector<ParameterShape> all = {{"fc.weight", {4, 6}}};
  for (size_t i = 0; i < layers; ++i)
    all.push_back({"layers." + std::to_string(i) + ".mlp.up_proj.weight", {8, 4}});
  all.push_back({"norm.weight", {4}});
  return all;
}

void add_updates(const SegmentConfig& config, Result& r) {
  for (int64_t step = config.from_step + 1; step <= config.to_step; ++step) {
    const bool first = !config.parent.empty() && step == config.from_step + 1;
    if (!first && step % kEvery != 0) continue;
    for (const Route& route : config.routing) {
      UpdateRow row{.step = step, .kind = tensor_kind(route.name), .rule = route.rule};
      row.weight_rms = 0.04;
      row.update_rms = 0.04 * config.optimizer.learning_rate();
      if (route.rule != "adamw") row.alignment = 0.9;
      r.updates.push_back(row);
    }
  }
}

}  // namespace

Result synthetic_run(const SyntheticPath& path, int64_t seed, const std::vector<double>& losses) {
  Result r;
  r.arm = path.arm;
  r.run = path.arm + " seed=" + std::to_string(seed);
  r.seeds = {seed, seed, seed};
  r.outcome = "done";
  r.steps = path.training.steps;

  SegmentConfig config;
  config.drafter.layer_types = path.layer_types;
  config.drafter.block_size = 8;
  config.training = path.training;
  config.split = {24, 0, 8};
  config.seeds = r.seeds;
  config.store = "store";
  for (int64_t step = 0; step <= path.training.steps; step += kEvery)
    config.evaluation.steps.push_back(step);
  std::string optimizer = path.optimizer;
  for (size_t i = 0; i <= path.switches.size(); ++i) {
    if (i > 0) {
      const SyntheticSwitch& change = path.switches[i - 1];
      if (!change.optimizer.empty()) optimizer = change.optimizer;
      config.start = change.start;
      config.from_step = change.at;
      config.parent = r.segments.back();
    }
    config.to_step = i < path.switches.size() ? path.switches[i].at : path.training.steps;
    config.optimizer = parse_optimizer_config(parse_json(optimizer, "test"), "test");
    config.routing = route(shapes(path.layer_types.size()), config.optimizer, path.routing, "test");
    r.segments.push_back(segment_id(config));
    r.stages.push_back({config, {}});
    if (i > 0) {
      const std::string fate = config.start.state == "reset" ? "reset" : "converted";
      for (const Route& each : config.routing)
        r.stages.back().transfer.push_back({each.name, "momentum", fate, "made up"});
    }
    add_updates(config, r);
  }
  r.config = config;
  r.optimizer = config.optimizer;
  for (size_t i = 0; i < losses.size(); ++i) {
    EvaluationRow row;
    row.step = kEvery * static_cast<int64_t>(i);
    row.split = "held_out";
    row.tokens = 100 * row.step;
    row.loss = losses[i];
    row.blocks = 100;
    row.prompts = 40;
    row.acceptance_length = 10 - losses[i];
    row.prefix_share.assign(7, (row.acceptance_length - 1) / 7);
    row.slot_accuracy = row.prefix_share;
    r.held_out.push_back(row);
    r.weights_hash += number_text(losses[i]) + " ";
  }
  r.tokens = 100 * r.steps;
  r.train_seconds = 0.1 * static_cast<double>(r.steps);
  return r;
}

}  // namespace draftlab
