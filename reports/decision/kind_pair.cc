#include "reports/decision/kind_pair.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "record/optimizer_kind.h"
#include "reports/switches/switch_group.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// The layer of "layers.3.self_attn.q_proj.weight"; nothing for tensors outside of the layers.
std::optional<size_t> layer_of(const std::string& tensor) {
  const std::string prefix = "layers.";
  if (!tensor.starts_with(prefix)) return std::nullopt;
  return static_cast<size_t>(std::stoul(tensor.substr(prefix.size())));
}

// KindPair::layers of a run; nothing for any other routing.
std::optional<std::string> layers_of(const Result& run) {
  const SegmentConfig& config = run.config;
  const OptimizerKind& kind = optimizer_kind(config.optimizer.kind, run.run);
  std::vector<ParameterShape> shapes;
  for (const Route& each : config.routing) shapes.push_back({each.name, each.shape});
  const std::vector<Route> usual = route(shapes, config.optimizer, {}, run.run);
  std::set<size_t> own, others;
  bool is_usual = true, outside = false;
  for (size_t i = 0; i < usual.size(); ++i) {
    const Route& each = config.routing[i];
    if (each.rule == "frozen") return std::nullopt;
    is_usual &= each.rule == usual[i].rule;
    if (usual[i].rule != kind.name) continue;
    const std::optional<size_t> layer = layer_of(each.name);
    const bool to_kind = each.rule == kind.name;
    if (layer) (to_kind ? own : others).insert(*layer);
    outside |= !layer && to_kind;
  }
  if (is_usual) return "";
  if (outside || own.empty()) return std::nullopt;
  const std::vector<std::string>& types = config.drafter.layer_types;
  const std::string& type = types[*own.begin()];
  for (size_t layer = 0; layer < types.size(); ++layer) {
    const bool is_own = own.contains(layer);
    if (is_own != (types[layer] == type) || (is_own && others.contains(layer))) return std::nullopt;
  }
  return type;
}

// The arm of this kind whose chosen setting is best; null: none has finished.
const Arm* best_arm(const Summary& summary, const std::string& kind) {
  std::vector<const Setting*> settings;
  std::map<const Setting*, const Arm*> arm_of;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr || arm.chosen()->optimizer.kind != kind) continue;
    settings.push_back(arm.chosen());
    arm_of[arm.chosen()] = &arm;
  }
  const Setting* best = best_setting(settings, summary.chosen_by);
  return best == nullptr ? nullptr : arm_of.at(best);
}

struct PairCandidate {
  const Result* run;
  std::string key;  // folder and conditions
  std::string layers;
};

std::optional<KindPair> pair_of(const Study& study, const std::set<const Result*>& runs,
                                const std::string& current, const std::string& candidate) {
  std::vector<Result> results;
  for (const Result& run : study.results) {
    if (runs.contains(&run)) results.push_back(run);
  }
  const Summary summary = summarize(results, study.plan.target);
  const Arm *a = best_arm(summary, current), *b = best_arm(summary, candidate);
  if (a == nullptr || b == nullptr) return std::nullopt;
  KindPair pair;
  pair.study = part_of(study, [&](const Result& run) {
    return runs.contains(&run) && (run.arm == a->name || run.arm == b->name);
  });
  for (const Arm& arm : pair.study.summary.arms) {
    if (arm.name == a->name) pair.current = &arm;
    if (arm.name == b->name) pair.candidate = &arm;
  }
  pair.refusal = refusal_between(pair.study, a->name, b->name);
  pair.warnings = warnings_between(pair.study, a->name, b->name);
  return pair;
}

}  // namespace

std::vector<KindPair> kind_pairs(const std::vector<Study>& studies, const std::string& current,
                                 const std::string& candidate,
                                 const std::vector<std::string>& folders) {
  std::vector<KindPair> pairs;
  for (const Study& study : studies) {
    if (!folders.empty() && std::ranges::find(folders, folder_name(study)) == folders.end())
      continue;
    std::vector<PairCandidate> all;
    std::vector<std::pair<std::string, std::string>> wanted;  // key, layers of the candidate
    for (const Result& run : study.results) {
      const std::string& kind = run.optimizer.kind;
      if (run.stages.size() != 1 || (kind != current && kind != candidate)) continue;
      const std::optional<std::string> layers = layers_of(run);
      if (!layers || (kind == current && !layers->empty())) continue;
      all.push_back({&run, run.folder + canonical(conditions(run.config)), *layers});
      const std::pair want{all.back().key, *layers};
      if (kind == candidate && std::ranges::find(wanted, want) == wanted.end())
        wanted.push_back(want);
    }
    for (const auto& [key, layers] : wanted) {
      std::set<const Result*> runs;
      for (const PairCandidate& one : all) {
        if (one.key == key && (one.run->optimizer.kind == current || one.layers == layers))
          runs.insert(one.run);
      }
      if (auto pair = pair_of(study, runs, current, candidate)) {
        pair->layers = layers;
        pair->folder = folder_name(study);
        pairs.push_back(std::move(*pair));
      }
    }
  }
  return pairs;
}

const KindPair* longest(const std::vector<KindPair>& pairs, bool with_target) {
  const KindPair* best = nullptr;
  for (const KindPair& pair : pairs) {
    if (!pair.layers.empty() || (with_target && pair.study.plan.target.metric.empty())) continue;
    if (best == nullptr || pair.config().training.steps > best->config().training.steps)
      best = &pair;
  }
  return best;
}

std::string folder_name(const Study& study) {
  if (study.sources.empty()) return study.plan.name;
  std::vector<std::string> names;
  for (const Source& source : study.sources) {
    const auto path = source.folder.root().lexically_normal();
    names.push_back((path.has_filename() ? path : path.parent_path()).filename().string());
  }
  return joined(names);
}

std::string origin_text(const KindPair& pair) {
  return pair.folder + ": " + pair.current->name + " and " + pair.candidate->name + ", " +
         counted(pair.config().training.steps, "step") + ", " +
         std::to_string(pair.current_runs().size()) + " and " +
         std::to_string(pair.candidate_runs().size()) + " runs";
}

std::string refusal_text(const KindPair& pair) {
  if (pair.refusal.ids.empty()) return "";
  return "The checks allow no winner between " + pair.current->name + " and " +
         pair.candidate->name + " (" + pair.refusal.ids + "): " + pair.refusal.sentence;
}

}  // namespace draftlab
