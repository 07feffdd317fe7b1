// Does the candidate's advantage hold for the kinds of layer that the production model has?
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/number_text.h"
#include "record/optimizer_kind.h"
#include "reports/decision/pillar.h"
#include "reports/pipeline/pipeline_findings.h"
#include "reports/stats/claim.h"
#include "reports/study/paired_curve.h"
#include "reports/study/step_size.h"
#include "reports/switches/switch_group.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// "sliding_attention" -> "sliding"
std::string spoken(const std::string& type) {
  const std::string suffix = "_attention";
  return type.ends_with(suffix) ? type.substr(0, type.size() - suffix.size()) : type;
}

// What the production drafter is made of, and what else is in question (of size 0).
struct Production {
  std::vector<std::string> types;        // of its layers
  std::map<std::string, int64_t> sizes;  // parameters by type; those outside of layers under ""
  int64_t in_layers = 0;                 // parameters
};

Production production_of(const DrafterConfig& drafter,
                         const std::vector<std::string>& in_question) {
  Production production;
  for (const ParameterShape& shape : parameter_shapes(drafter)) {
    const std::string prefix = "layers.";
    std::string type;
    if (shape.name.starts_with(prefix))
      type = drafter.layer_types[std::stoul(shape.name.substr(prefix.size()))];
    production.sizes[type] += shape.count();
  }
  for (const auto& [type, count] : production.sizes) {
    if (type.empty()) continue;
    production.types.push_back(type);
    production.in_layers += count;
  }
  for (const std::string& type : in_question) {
    if (production.sizes.try_emplace(type, 0).second) production.types.push_back(type);
  }
  return production;
}

// The type of layer that a pair tells about: the only one of its drafter, or the only one whose
// matrices are the candidate's; "" for neither.
std::string type_of(const KindPair& pair) {
  if (!pair.layers.empty()) return pair.layers;
  const std::vector<std::string>& types = pair.config().drafter.layer_types;
  const bool uniform = std::ranges::all_of(types, [&](const auto& t) { return t == types[0]; });
  return uniform ? types[0] : "";
}

// What two pairs must share to differ in the type of layer alone.
std::string all_but_layers(const KindPair& pair) {
  JsonObject object = conditions(pair.config());
  if (pair.layers.empty()) {
    object["drafter"].as_object().erase("layer_types");
    object["drafter"].as_object().erase("sliding_window");
  }
  return (pair.layers.empty() ? "drafter " : "routing ") + canonical(object);
}

// Alignment of the candidate's updates, mean over its matrices in the last step that was measured,
// with an interval over runs.
PillarNumber alignment_of(const KindPair& pair, const std::string& of) {
  std::vector<double> means;
  for (const Result* run : pair.candidate_runs()) {
    std::vector<double> values;
    for (const UpdateRow& row : run->updates) {
      if (row.step == run->updates.back().step && !std::isnan(row.alignment))
        values.push_back(row.alignment);
    }
    means.push_back(estimate(values).mean);
  }
  const Estimate mean = estimate(means);
  return {"alignment of the updates, " + of, mean.mean, mean.low, mean.high, mean.n};
}

void add_telemetry(const KindPair& pair, const std::string& of, Pillar& pillar) {
  const PillarNumber alignment = alignment_of(pair, of);
  const double size = step_size(pair.candidate_runs()).value;
  if (!std::isnan(alignment.value)) pillar.numbers.push_back(alignment);
  if (!std::isnan(size)) {
    pillar.numbers.push_back({"update over weights at the full rate, " + of, size});
    pillar.numbers.back().n = static_cast<int64_t>(pair.candidate_runs().size());
  }
}

Pillar asked(const Production& production, const DecisionContext& context) {
  Pillar pillar;
  pillar.name = "architecture";
  pillar.question = "Is " + kind_title(context.candidate) + " ahead of " +
                    kind_title(context.current) +
                    " in every kind of layer that the production drafter has?";
  pillar.rule =
      "From runs that differ in the kind of layer alone: for where the whole interval of the "
      "difference in final acceptance length lies above 0 for every kind, against where it lies "
      "below 0 for kinds that hold more than half of the parameters in layers; undecided "
      "otherwise, or where the loss says the opposite.";
  std::vector<std::string> kinds;
  for (const std::string& type : production.types) kinds.push_back(spoken(type));
  pillar.settle = "Two drafters alike but for their layers (all " + joined(kinds) +
                  "), or arms that route the matrices of one kind of layer to " +
                  kind_title(context.candidate) + " and all else to AdamW; both optimizers, " +
                  kFewestSeedsInWords + " seeds.";
  for (const auto& [type, count] : production.sizes) {
    pillar.numbers.push_back({"parameters in production, " +
                                  (type.empty() ? "outside of layers" : spoken(type) + " layers"),
                              static_cast<double>(count)});
  }
  return pillar;
}

// Pairs that differ in the kind of layer alone, by it.
using ByType = std::map<std::string, const KindPair*>;

// The first of these that has every type of production; empty where none has.
// Of one folder, or of all together where the context names several.
ByType pairs_by_type(const std::vector<KindPair>& pairs, const std::vector<std::string>& wanted,
                     bool together) {
  std::map<std::string, ByType> studies;
  for (const KindPair& pair : pairs) {
    if (const std::string type = type_of(pair); !type.empty())
      studies[(together ? "" : pair.folder + " ") + all_but_layers(pair)].emplace(type, &pair);
  }
  const auto whole = std::ranges::find_if(studies, [&](const auto& study) {
    return std::ranges::all_of(wanted,
                               [&](const auto& type) { return study.second.contains(type); });
  });
  return whole == studies.end() ? ByType() : whole->second;
}

PillarNumber advantage(const KindPair& pair, Measure measure, const std::string& what) {
  const Estimate d = final_difference(pair.candidate_runs(), pair.current_runs(), measure);
  return {"advantage in " + kind_of(measure).name + ", " + what, d.mean, d.low, d.high, d.n};
}

// What the folders tell although nothing in them differs in the kind of layer alone.
void tell_mixed(const std::vector<KindPair>& pairs, Pillar& pillar) {
  pillar.reason = "No runs in these folders differ in the kind of layer alone";
  std::set<std::string> told;
  for (const KindPair& pair : pairs) {
    const std::string type = type_of(pair);
    const std::string of =
        type.empty() ? "drafter of mixed layers" : "drafter of " + spoken(type) + " layers";
    add_telemetry(pair, of + ", " + pair.candidate->name, pillar);
    if (told.insert(of).second)
      pillar.reason += (told.size() == 1 ? "; there is a " : ", and a ") + of;
    if (!pair.refusal.ids.empty()) continue;
    pillar.numbers.push_back(advantage(pair, Measure::kAcceptanceLength,
                                       of + ", " + counted(pair.config().training.steps, "step")));
  }
  pillar.reason += ".";
}

// What one kind of layer says.
struct KindOfLayer {
  std::string type;
  PillarNumber length, loss;
  Judgement judgement() const { return judge_both(judge(length, 0, true), judge(loss, 0, false)); }
};

KindOfLayer measure(const std::string& type, const KindPair& pair, Pillar& pillar) {
  const std::string layers = spoken(type) + " layers";
  KindOfLayer kind{type, advantage(pair, Measure::kAcceptanceLength, layers),
                   advantage(pair, Measure::kLoss, layers)};
  pillar.numbers.push_back(kind.length);
  pillar.numbers.push_back(kind.loss);
  add_telemetry(pair, layers, pillar);
  if (!pair.warnings.empty())
    pillar.limits.push_back("Checks warn (" + layers + "): " + pair.warnings + ".");
  return kind;
}

// Parameters in layers of the kinds where the candidate is behind.
int64_t parameters_behind(const std::vector<KindOfLayer>& kinds, const Production& production) {
  int64_t behind = 0;
  for (const KindOfLayer& kind : kinds) {
    if (kind.judgement().verdict == Verdict::kAgainst) behind += production.sizes.at(kind.type);
  }
  return behind;
}

Judgement judge_all(const std::vector<KindOfLayer>& kinds, const Production& production) {
  Judgement all{Verdict::kFor, INFINITY};
  for (const KindOfLayer& kind : kinds) {
    const Judgement one = kind.judgement();
    if (one.verdict != Verdict::kFor) all.verdict = Verdict::kUndecided;
    all.margin = std::isnan(one.margin) ? NAN : std::min(all.margin, one.margin);
  }
  if (2 * parameters_behind(kinds, production) > production.in_layers)
    all.verdict = Verdict::kAgainst;
  return all;
}

std::string reason_text(const std::vector<KindOfLayer>& kinds, const Production& production,
                        const DecisionContext& context) {
  std::vector<std::string> said;
  for (const KindOfLayer& kind : kinds)
    said.push_back(number_phrase(kind.length) + " in " + spoken(kind.type) + " layers");
  std::string text = "The final acceptance length with " + kind_title(context.candidate) +
                     " minus that with " + kind_title(context.current) + " is " + listed(said) +
                     ".";
  const int64_t behind = parameters_behind(kinds, production);
  if (behind == 0) return text;
  return text + " Kinds where it is behind hold " +
         share_text(static_cast<double>(behind) / static_cast<double>(production.in_layers)) +
         " of the parameters in layers.";
}

}  // namespace

Pillar architecture_pillar(const std::vector<KindPair>& pairs, const DecisionContext& context) {
  const Production production = production_of(context.drafter, context.layers_in_question);
  Pillar pillar = asked(production, context);
  const ByType found =
      pairs_by_type(pairs, production.types, context.folders_of("architecture").size() > 1);
  if (found.empty()) {
    tell_mixed(pairs, pillar);
    return pillar;
  }
  std::vector<KindOfLayer> kinds;
  for (const std::string& type : production.types) {
    const KindPair& pair = *found.at(type);
    pillar.origins.push_back(origin_text(pair));
    kinds.push_back(measure(type, pair, pillar));
    pillar.reason = refusal_text(pair);
    if (!pillar.reason.empty()) return pillar;
  }
  for (const KindOfLayer& kind : kinds)
    pillar.balances.push_back({kind.length, 0, true, spoken(kind.type) + " layers"});
  decide_by(judge_all(kinds, production), pillar);
  pillar.reason = reason_text(kinds, production, context);
  return pillar;
}

}  // namespace draftlab
