// Does the candidate's advantage hold for the kinds of layer that the production model has?
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/number_text.h"
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

// Parameters of the layers of each type, and those outside of layers under "".
std::map<std::string, int64_t> parameters_by_type(const DrafterConfig& drafter) {
  std::map<std::string, int64_t> sizes;
  for (const ParameterShape& shape : parameter_shapes(drafter)) {
    const std::string prefix = "layers.";
    std::string type;
    if (shape.name.starts_with(prefix))
      type = drafter.layer_types[std::stoul(shape.name.substr(prefix.size()))];
    sizes[type] += shape.count();
  }
  return sizes;
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

}  // namespace

Pillar architecture_pillar(const std::vector<KindPair>& pairs, const DecisionContext& context) {
  Pillar pillar;
  pillar.name = "architecture";
  pillar.question = "Is " + context.candidate + " ahead of " + context.current +
                    " in every kind of layer that the production drafter has?";
  pillar.rule =
      "From runs that differ in the kind of layer alone: for where the whole interval of the "
      "difference in final acceptance length lies above 0 for every kind, against where it lies "
      "below 0 for kinds that hold more than half of the parameters in layers; undecided "
      "otherwise, or where the loss says the opposite.";
  const std::map<std::string, int64_t> sizes = parameters_by_type(context.drafter);
  std::vector<std::string> wanted;  // types of production
  int64_t in_layers = 0;
  for (const auto& [type, count] : sizes) {
    pillar.numbers.push_back({"parameters in production, " +
                                  (type.empty() ? "outside of layers" : spoken(type) + " layers"),
                              static_cast<double>(count)});
    if (type.empty()) continue;
    wanted.push_back(type);
    in_layers += count;
  }
  std::vector<std::string> kinds;
  for (const std::string& type : wanted) kinds.push_back(spoken(type));
  pillar.settle = "Two drafters alike but for their layers (all " + joined(kinds) +
                  "), or arms that route the matrices of one kind of layer to " +
                  context.candidate + " and all else to AdamW; both optimizers, " +
                  kFewestSeedsInWords + " seeds.";

  std::map<std::string, std::map<std::string, const KindPair*>> studies;
  for (const KindPair& pair : pairs) {
    if (const std::string type = type_of(pair); !type.empty())
      studies[all_but_layers(pair)].emplace(type, &pair);
  }
  const std::map<std::string, const KindPair*>* found = nullptr;
  for (const auto& [key, by_type] : studies) {
    const bool whole =
        std::ranges::all_of(wanted, [&](const auto& type) { return by_type.contains(type); });
    if (whole && found == nullptr) found = &by_type;
  }
  if (found == nullptr) {
    pillar.reason = "No runs in these folders differ in the kind of layer alone";
    std::set<std::string> told;
    for (const KindPair& pair : pairs) {
      const std::string type = type_of(pair);
      const std::string of =
          type.empty() ? "drafter of mixed layers" : "drafter of " + spoken(type) + " layers";
      add_telemetry(pair, of + ", " + pair.candidate->name, pillar);
      if (told.insert(of).second)
        pillar.reason += (told.size() == 1 ? "; there is a " : ", and a ") + of;
      if (pair.refusal.ids.empty()) {
        const Estimate d = final_difference(pair.candidate_runs(), pair.current_runs(),
                                            Measure::kAcceptanceLength);
        pillar.numbers.push_back({"advantage in acceptance length, " + of + ", " +
                                      counted(pair.config().training.steps, "step"),
                                  d.mean, d.low, d.high, d.n});
      }
    }
    pillar.reason += ".";
    return pillar;
  }

  int64_t against = 0;
  bool all_for = true;
  pillar.margin = INFINITY;
  std::vector<std::string> said;
  for (const std::string& type : wanted) {
    const KindPair& pair = *found->at(type);
    const auto advantage = [&](Measure measure) {
      const Estimate d = final_difference(pair.candidate_runs(), pair.current_runs(), measure);
      return PillarNumber{"advantage in " + kind_of(measure).name + ", " + spoken(type) + " layers",
                          d.mean, d.low, d.high, d.n};
    };
    const PillarNumber length = advantage(Measure::kAcceptanceLength),
                       loss = advantage(Measure::kLoss);
    pillar.numbers.push_back(length);
    pillar.numbers.push_back(loss);
    add_telemetry(pair, spoken(type) + " layers", pillar);
    if (!pair.warnings.empty())
      pillar.limits.push_back("Checks warn (" + spoken(type) + " layers): " + pair.warnings + ".");
    if (const std::string refused = refusal_text(pair); !refused.empty()) {
      pillar.reason = refused;
      pillar.margin = NAN;
      return pillar;
    }
    const Judgement judgement = judge_both(judge(length, 0, true), judge(loss, 0, false));
    all_for &= judgement.verdict == Verdict::kFor;
    if (judgement.verdict == Verdict::kAgainst) against += sizes.at(type);
    pillar.margin = std::isnan(judgement.margin) ? NAN : std::min(pillar.margin, judgement.margin);
    said.push_back(number_phrase(length) + " in " + spoken(type) + " layers");
  }
  if (all_for) pillar.verdict = Verdict::kFor;
  if (2 * against > in_layers) pillar.verdict = Verdict::kAgainst;
  pillar.reason = "The final acceptance length with " + context.candidate + " minus that with " +
                  context.current + " is " + listed(said) + ".";
  if (against > 0) {
    pillar.reason += " Kinds where it is behind hold " +
                     share_text(static_cast<double>(against) / static_cast<double>(in_layers)) +
                     " of the parameters in layers.";
  }
  if (pillar.verdict != Verdict::kUndecided) pillar.settle.clear();
  return pillar;
}

}  // namespace draftlab
