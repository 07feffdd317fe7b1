#include "runner/planner.h"

#include <algorithm>
#include <cassert>
#include <unordered_set>

#include "base/error.h"
#include "base/number_text.h"
#include "record/segment_text.h"

namespace draftlab {
namespace {

std::string seeds_text(const Seeds& seeds) {
  const std::string weights = std::to_string(seeds.weights);
  if (seeds.weights == seeds.data && seeds.weights == seeds.noise) return "seed=" + weights;
  return "seeds=" + weights + "/" + std::to_string(seeds.data) + "/" + std::to_string(seeds.noise);
}

DrafterConfig fitting_drafter(const SweepArm& arm, const PlannedStore& store) {
  const std::string& where = arm.drafter_where;
  const DrafterConfig drafter = parse_drafter_config(arm.drafter, where, store.facts.mask_token_id,
                                                     static_cast<int64_t>(store.facts.taps.size()));
  const auto same = [&](const char* key, int64_t value, const std::optional<int64_t>& target) {
    if (!target || value == *target) return;
    throw Error(where + "." + key, "is " + std::to_string(value) +
                                       ", but the target of the store " + store.folder.string() +
                                       " has " + std::to_string(*target));
  };
  same("hidden_size", drafter.hidden_size, store.facts.hidden_size);
  same("vocab_size", drafter.vocab_size, store.facts.vocab_size);
  return drafter;
}

void check_loss(const SweepArm& arm, const PlannedStore& store) {
  if (store.facts.final_hidden || !arm.training.loss.needs_target()) return;
  throw Error(arm.training_where + ".loss",
              "'" + loss_text(arm.training.loss) +
                  "' compares with the target's own distribution, which the store " +
                  store.folder.string() +
                  " does not keep; build a store with \"final_hidden\": true in its specification, "
                  "or train with ce or dpace");
}

void check_split(const Sweep& sweep, const PlannedStore& store, std::vector<std::string>& notices) {
  const SplitConfig& split = sweep.split;
  for (const SweepArm& arm : sweep.arms) {
    if (arm.training.sequences_per_step <= split.train) continue;
    throw Error(arm.training_where + ".sequences_per_step",
                "is " + std::to_string(arm.training.sequences_per_step) + ", but split.train has " +
                    std::to_string(split.train) + " sequences");
  }
  if (!store.facts.records) return;
  const int64_t wanted = split.train + split.tuning + split.held_out;
  if (wanted > *store.facts.records) {
    throw Error(sweep.file.string() + ": split",
                "train + tuning + held_out is " + std::to_string(wanted) + ", but the store " +
                    store.folder.string() + " has " + std::to_string(*store.facts.records) +
                    " sequences");
  }
  if (wanted < *store.facts.records) {
    notices.push_back("the split uses " + std::to_string(wanted) + " of the store's " +
                      std::to_string(*store.facts.records) + " sequences");
  }
}

// A part of one stage of a point: what one segment trains.
struct Piece {
  size_t stage = 0;
  int64_t from_step = 0, to_step = 0;
};

// The stages of a point, cut at `cuts` (rising) and ended at the last of them, if there are any.
std::vector<Piece> pieces_of(const ArmPoint& point, int64_t steps,
                             const std::vector<int64_t>& cuts) {
  const int64_t end = cuts.empty() ? steps : cuts.back();
  std::vector<Piece> pieces;
  for (size_t i = 0; i < point.stages.size(); ++i) {
    const int64_t to =
        std::min(end, i + 1 < point.stages.size() ? point.stages[i + 1].from_step : steps);
    int64_t from = point.stages[i].from_step;
    for (const int64_t cut : cuts) {
      if (cut <= from || cut >= to) continue;
      pieces.push_back({i, from, cut});
      from = cut;
    }
    if (from < to) pieces.push_back({i, from, to});
  }
  return pieces;
}

}  // namespace

std::vector<std::string> SegmentGraph::add_path(std::vector<SegmentConfig> path) {
  assert(!path.empty());
  const Seeds seeds = path.front().seeds;
  return add_paths(std::move(path), {seeds}).front();
}

std::vector<std::vector<std::string>> SegmentGraph::add_paths(std::vector<SegmentConfig> path,
                                                              const std::vector<Seeds>& seeds) {
  assert(!path.empty());
  std::vector<SegmentText> texts;
  int64_t from_step = 0;
  for (SegmentConfig& config : path) {
    config.from_step = from_step;
    assert(config.to_step > config.from_step);
    from_step = config.to_step;
    texts.emplace_back(config);
  }
  std::vector<std::vector<std::string>> paths;
  for (const Seeds& own : seeds) {
    std::vector<std::string> ids;
    for (size_t i = 0; i < path.size(); ++i) {
      const std::string parent = ids.empty() ? "" : ids.back();
      const std::string id = texts[i].id(parent, own);
      if (index_.emplace(id, segments_.size()).second) {
        segments_.push_back({id, path[i]});
        segments_.back().config.parent = parent;
        segments_.back().config.seeds = own;
      }
      ids.push_back(id);
    }
    paths.push_back(std::move(ids));
  }
  return paths;
}

PlanRecord make_plan(const Sweep& sweep, const PlannedStore& store) {
  if (!sweep.tuning) return make_phase(sweep, store, sweep.seeds, "");
  const auto first_rung = sweep.tuning->halving ? std::optional<size_t>(0) : std::nullopt;
  return make_phase(sweep, store, sweep.tuning->seeds, kTrial, first_rung);
}

PlanRecord make_phase(const Sweep& sweep, const PlannedStore& store,
                      const std::vector<Seeds>& all_seeds, const std::string& phase,
                      std::optional<size_t> rung) {
  PlanRecord plan;
  plan.name = sweep.name;
  plan.sweep_file = sweep.file.string();
  plan.changes = sweep.changes;
  plan.sweep = sweep.content;
  plan.store = store.specification;
  plan.store_folder = store.folder;
  plan.store_hash = store.hash;
  plan.store_facts = store.facts;
  plan.target = sweep.target;
  plan.checkpoint_every = sweep.checkpoint_every;
  plan.notices = sweep.notices;
  check_split(sweep, store, plan.notices);
  SegmentGraph graph;
  std::unordered_map<std::string, std::string> first_run;  // of a last segment's id
  std::unordered_set<std::string> names;
  for (const SweepArm& arm : sweep.arms) {
    check_loss(arm, store);
    const DrafterConfig drafter = fitting_drafter(arm, store);
    const std::vector<ParameterShape> shapes = parameter_shapes(drafter);
    std::vector<int64_t> cuts;
    for (size_t i = 0; rung && i <= *rung; ++i)
      cuts.push_back(sweep.tuning->halving->step(i, arm.training.steps));
    const bool stops = rung && cuts.back() < arm.training.steps;
    const std::string until = stops ? " rung " + std::to_string(*rung + 1) : "";
    for (const ArmPoint& point : arm.points) {
      const std::string name = arm.name + (point.label.empty() ? "" : " " + point.label);
      std::vector<SegmentConfig> path;
      for (const Piece& piece : pieces_of(point, arm.training.steps, cuts)) {
        const Stage& stage = point.stages[piece.stage];
        path.push_back(
            {.drafter = drafter,
             .training = arm.training,
             .evaluation = arm.evaluation,
             .split = sweep.split,
             .optimizer = stage.optimizer,
             .routing = route(shapes, stage.optimizer, stage.routing, arm.where + ".routing"),
             .seeds = {},
             .store = store.hash,
             .parent = "",
             .start = piece.from_step == stage.from_step
                          ? stage.start
                          : StartConfig{.schedule_from = stage.start.schedule_from},
             .from_step = piece.from_step,
             .to_step = piece.to_step});
      }
      const OptimizerConfig optimizer = path.back().optimizer;
      const auto ids = graph.add_paths(std::move(path), all_seeds);
      for (size_t i = 0; i < all_seeds.size(); ++i) {
        const Seeds& seeds = all_seeds[i];
        PlannedRun run{name + " " + seeds_text(seeds) + until,
                       arm.name,
                       point.label,
                       optimizer,
                       seeds,
                       ids[i],
                       phase};
        // An arm may be called like another arm's point.
        for (int copy = 2; !names.insert(run.name).second; ++copy) {
          run.name = name + " " + seeds_text(seeds) + until + " (" + std::to_string(copy) + ")";
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
