#include "record/optimizers/muon_family.h"

namespace draftlab::optimizers {
namespace {

Options orthogonalizer_options(const std::string& fallback,
                               const std::vector<std::string>& choices) {
  std::vector<std::string> steps, safety;  // the orthogonalizers that have these options
  for (const OrthogonalizerKind& kind : orthogonalizer_kinds()) {
    if (kind.table.empty()) continue;
    steps.push_back(kind.name);
    if (kind.normalizer == "frobenius") safety.push_back(kind.name);
  }
  return {
      {"orthogonalizer", Json(fallback), 0, 0, choices,
       "how a matrix is orthogonalized; see `draftlab optimizers "
       "orthogonalizers`"},
      {"steps",
       int64_t{5},
       1,
       50,
       {},
       "iterations; past the end of a table its last step repeats",
       "orthogonalizer",
       steps},
      {"epsilon",
       "scale_free",
       0,
       0,
       {"scale_free", "published"},
       "scale_free: divide by the largest entry first, so that tiny gradients keep their "
       "direction; published: only "
       "the floor of the source",
       "orthogonalizer",
       steps},
      {"safety",
       0.0,
       0,
       1,
       {},
       "the norm that a matrix is divided by is multiplied by 1 + safety",
       "orthogonalizer",
       safety},
      {"lower_bound",
       1e-3,
       1e-12,
       0.5,
       {},
       "smallest singular value that the quintics are made for",
       "orthogonalizer",
       {"polar_express"}},
      {"cushion",
       0.02,
       1e-9,
       0.5,
       {},
       "smallest ratio of the bounds that a quintic is made for",
       "orthogonalizer",
       {"polar_express"}},
      {"restart",
       int64_t{2},
       0,
       50,
       {},
       "the step before which X is formed anew from its Gram chain; 0: never",
       "orthogonalizer",
       {"gram_newton_schulz"}},
  };
}

std::vector<std::string> all_orthogonalizers() {
  std::vector<std::string> names;
  for (const OrthogonalizerKind& kind : orthogonalizer_kinds()) names.push_back(kind.name);
  return names;
}

// Of the mean squared gradient that is only kept, for a switch to come.
OptimizerOption shadow() {
  OptimizerOption option{
      "shadow_beta2",
      0.0,
      0,
      kLargestDecayRate,
      {},
      "keep a mean squared gradient with this decay, for a planned switch to AdamW; 0: none"};
  option.reaches_weights = false;
  return option;
}

}  // namespace

std::vector<std::string> muon_conventions() {
  return {"keller_jordan", "torch", "moonlight", "speculators", "dion"};
}

Options muon_options(const MuonFamily& family) {
  return joined({
      {{"convention", Json(family.conventions[0]), 0, 0, family.conventions,
        "the project whose form and defaults are taken; options given besides it win"},
       learning_rate(0.02),
       beta("momentum", 0.95, "mean gradient"),
       {"momentum_form",
        "lerp",
        0,
        0,
        {"lerp", "accumulate"},
        "M = mu M + (1 - mu) G, or M = mu M + G: the same direction, another size of the state"},
       {"nesterov", true, 0, 0, {}, "look one momentum step ahead"},
       {"cautious",
        false,
        0,
        0,
        {},
        "before orthogonalizing, drop entries of the momentum whose sign is not the gradient's "
        "(arXiv 2411.16085)"},
       weight_decay(0.0),
       decay(family.decays),
       {"scale", Json(family.scales[0]), 0, 0, family.scales, family.scale_meaning}},
      orthogonalizer_options(family.orthogonalizer, family.orthogonalizers.empty()
                                                        ? all_orthogonalizers()
                                                        : family.orthogonalizers),
      family.own,
      {shadow(), qk_clip()},
      partner(),
  });
}

Presets orthogonalizer_presets() {
  Presets presets;
  for (const OrthogonalizerKind& kind : orthogonalizer_kinds()) {
    if (kind.table.empty()) continue;
    presets.push_back(
        {"orthogonalizer", kind.name, {{"steps", kind.steps}, {"safety", kind.safety}}});
  }
  return presets;
}

Presets muon_presets(bool turbo) {
  Presets presets = orthogonalizer_presets();
  presets.push_back(convention("keller_jordan", "github.com/KellerJordan/Muon", {}));
  presets.push_back(convention(
      "torch", "torch.optim.Muon, which leaves the rest to a second optimizer",
      {{{"learning_rate", 1e-3}, {"weight_decay", 0.1}}, partner_preset(1e-3, 0.999, 0.01)}));
  presets.push_back(
      convention("moonlight", "Moonlight (arXiv 2502.16982): one rate and decay for Muon and AdamW",
                 {{{"learning_rate", 1e-3},
                   {"momentum_form", "accumulate"},
                   {"weight_decay", 0.1},
                   {"scale", "match_rms"}},
                  partner_preset(1e-3, 0.95, 0.1)}));
  presets.push_back(
      convention("speculators", "vLLM speculators: torch's form at ten times AdamW's rate",
                 {{{"learning_rate", 1e-3}, {"weight_decay", 0.1}, {"scale", "match_rms"}},
                  partner_preset(1e-4, 0.999, 0.01)}));
  presets.push_back(
      convention("dion", "github.com/microsoft/dion: no Nesterov, spectral scale, Polar Express",
                 {{{"learning_rate", 0.01},
                   {"momentum_form", "accumulate"},
                   {"nesterov", false},
                   {"weight_decay", 0.01},
                   {"scale", "spectral"}},
                  partner_preset(3e-4, 0.95, 0.01)}));
  if (!turbo) presets.back().defaults.push_back({"orthogonalizer", "polar_express"});
  return presets;
}

std::vector<Buffer> muon_buffers(const OptimizerConfig& options, const Route& route) {
  const double mu = options.number("momentum");
  Buffer momentum = mean_gradient("momentum", route, mu);
  if (options.text("momentum_form") == "accumulate") {
    momentum.name = "momentum_sum";  // the counter is that of both forms
    momentum.factor = 1 - mu;
    momentum.factor_text = "(1 - momentum)";
  }
  std::vector<Buffer> kept = {momentum};
  const double shadow_beta2 = options.number("shadow_beta2");
  if (shadow_beta2 > 0) kept.push_back(mean_square("exp_avg_sq", route, shadow_beta2));
  return kept;
}

UpdateWork orthogonalization_work(const OptimizerConfig& options, const Route& route) {
  UpdateWork work;
  if (route.shape.size() != 2) return work;  // a vector is its own diagonal matrix
  const OrthogonalizerKind& kind =
      orthogonalizer_kind(options.text("orthogonalizer"), "orthogonalizer");
  for (const int64_t rows : route.split) {
    const ProductCount count = count_products(
        kind, options.has("steps") ? options.integer("steps") : 0,
        options.has("restart") ? options.integer("restart") : -1, rows, route.shape[1]);
    work.products += count.products;
    work.flop += count.flop;
  }
  return work;
}

}  // namespace draftlab::optimizers
