#include "runner/planner.h"

#include <cassert>
#include <unordered_set>

#include "base/error.h"
#include "base/number_text.h"

namespace draftlab {
namespace {

const Json& option_value(const OptimizerConfig& optimizer, const std::string& key) {
  const size_t dot = key.find('.');
  if (dot == std::string::npos) return optimizer.options.at(key);
  return optimizer.options.at(key.substr(0, dot)).at(key.substr(dot + 1));
}

// The keys on which the points of a grid differ, in the order of the optimizer's options.
std::vector<std::string> varying_keys(const std::vector<OptimizerConfig>& grid) {
  std::vector<std::string> keys;
  for (const OptimizerOption& option : optimizer_kind(grid[0].kind, "optimizer").options) {
    const Json& first = option_value(grid[0], option.key);
    for (const OptimizerConfig& point : grid) {
      if (option_value(point, option.key) == first) continue;
      keys.push_back(option.key);
      break;
    }
  }
  return keys;
}

// "learning_rate" -> "lr", "adamw.learning_rate" -> "adamw.lr"
std::string short_key(const std::string& key) {
  constexpr std::string_view kLong = "learning_rate";
  return key.ends_with(kLong) ? key.substr(0, key.size() - kLong.size()) + "lr" : key;
}

std::string plain_text(const Json& value) {
  return value.is_string() ? std::string(value.get_string()) : canonical(value);
}

std::string seeds_text(const Seeds& seeds) {
  const std::string weights = std::to_string(seeds.weights);
  if (seeds.weights == seeds.data && seeds.weights == seeds.noise) return "seed=" + weights;
  return "seeds=" + weights + "/" + std::to_string(seeds.data) + "/" + std::to_string(seeds.noise);
}

DrafterConfig fitting_drafter(const Sweep& sweep, const PlannedStore& store) {
  const std::string where = sweep.file.string() + ": drafter";
  const DrafterConfig drafter =
      parse_drafter_config(sweep.drafter, where, store.mask_token_id, store.num_taps);
  const auto same = [&](const char* key, int64_t value, const std::optional<int64_t>& target) {
    if (!target || value == *target) return;
    throw Error(where + "." + key, "is " + std::to_string(value) +
                                       ", but the target of the store " + store.folder.string() +
                                       " has " + std::to_string(*target));
  };
  same("hidden_size", drafter.hidden_size, store.hidden_size);
  same("vocab_size", drafter.vocab_size, store.vocab_size);
  return drafter;
}

void check_split(const Sweep& sweep, const PlannedStore& store, std::vector<std::string>& notices) {
  const SplitConfig& split = sweep.split;
  if (sweep.training.sequences_per_step > split.train) {
    throw Error(sweep.file.string() + ": training.sequences_per_step",
                "is " + std::to_string(sweep.training.sequences_per_step) +
                    ", but split.train has " + std::to_string(split.train) + " sequences");
  }
  if (!store.records) return;
  const int64_t wanted = split.train + split.tuning + split.held_out;
  if (wanted > *store.records) {
    throw Error(sweep.file.string() + ": split", "train + tuning + held_out is " +
                                                     std::to_string(wanted) + ", but the store " +
                                                     store.folder.string() + " has " +
                                                     std::to_string(*store.records) + " sequences");
  }
  if (wanted < *store.records) {
    notices.push_back("the split uses " + std::to_string(wanted) + " of the store's " +
                      std::to_string(*store.records) + " sequences");
  }
}

}  // namespace

std::vector<std::string> SegmentGraph::add_path(std::vector<SegmentConfig> path) {
  assert(!path.empty());
  std::vector<std::string> ids;
  for (SegmentConfig& config : path) {
    config.parent = ids.empty() ? "" : ids.back();
    config.from_step = ids.empty() ? 0 : segments_[index_.at(ids.back())].config.to_step;
    assert(config.to_step > config.from_step);
    const std::string id = segment_id(config);
    if (index_.emplace(id, segments_.size()).second) segments_.push_back({id, std::move(config)});
    ids.push_back(id);
  }
  return ids;
}

PlanRecord make_plan(const Sweep& sweep, const PlannedStore& store) {
  PlanRecord plan;
  plan.name = sweep.name;
  plan.sweep_file = sweep.file.string();
  plan.sweep = sweep.content;
  plan.store = store.specification;
  plan.store_folder = store.folder;
  plan.store_hash = store.hash;
  plan.target = sweep.target;
  plan.checkpoint_every = sweep.checkpoint_every;
  plan.notices = sweep.notices;
  const DrafterConfig drafter = fitting_drafter(sweep, store);
  check_split(sweep, store, plan.notices);
  const std::vector<ParameterShape> shapes = parameter_shapes(drafter);

  SegmentGraph graph;
  std::unordered_map<std::string, std::string> first_run;  // of a last segment's id
  std::unordered_set<std::string> names;
  for (const SweepArm& arm : sweep.arms) {
    const std::vector<std::string> varying = varying_keys(arm.grid);
    for (const OptimizerConfig& optimizer : arm.grid) {
      std::string name = arm.name;
      for (const std::string& key : varying) {
        name += " " + short_key(key) + "=" + plain_text(option_value(optimizer, key));
      }
      SegmentConfig config{drafter,
                           sweep.training,
                           sweep.evaluation,
                           sweep.split,
                           optimizer,
                           route(shapes, optimizer, arm.routing, arm.where + ".routing"),
                           {},
                           store.hash,
                           "",
                           0,
                           sweep.training.steps};
      for (const Seeds& seeds : sweep.seeds) {
        config.seeds = seeds;
        PlannedRun run{name + " " + seeds_text(seeds), arm.name, optimizer, seeds,
                       graph.add_path({config})};
        // An arm may be called like another arm's point.
        for (int copy = 2; !names.insert(run.name).second; ++copy) {
          run.name = name + " " + seeds_text(seeds) + " (" + std::to_string(copy) + ")";
        }
        const auto [first, is_new] = first_run.emplace(run.segments.back(), run.name);
        if (!is_new) {
          plan.notices.push_back("'" + run.name + "' is the same training as '" + first->second +
                                 "'; it runs once and is shown twice");
        }
        plan.runs.push_back(std::move(run));
      }
    }
  }
  plan.segments = graph.take();
  return plan;
}

}  // namespace draftlab
