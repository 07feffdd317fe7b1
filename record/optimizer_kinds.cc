#include "record/optimizer_config.h"
#include "record/orthogonalizer.h"

// The registry: every optimizer with its options, their defaults and where those come from.

namespace draftlab {
namespace {

using Options = std::vector<OptimizerOption>;
using Presets = std::vector<OptimizerPreset>;

// Below 1, so that a bias correction 1 - beta^t is never 0.
constexpr double kLargestDecayRate = 0.999999;

Options joined(std::initializer_list<Options> parts) {
  Options all;
  for (const Options& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

OptimizerOption learning_rate(double fallback) {
  return {"learning_rate", fallback, 0, 10, {}, "base rate; the schedule multiplies it"};
}

OptimizerOption beta(const std::string& key, double fallback, const std::string& of) {
  return {key, fallback, 0, kLargestDecayRate, {}, "decay of the " + of};
}

OptimizerOption epsilon(const std::string& key, double fallback) {
  return {key, fallback, 1e-30, 1, {}, "added to the root of the mean squared gradient"};
}

OptimizerOption weight_decay(const std::string& key, double fallback) {
  return {key, fallback, 0, 10, {}, "decoupled: w *= 1 - rate * weight_decay, whatever the scale"};
}

// "cautious_squared" is modded-nanogpt's: masked, and by the rate squared.
OptimizerOption decay(std::vector<std::string> choices = {"decoupled", "cautious"}) {
  return {
      "decay",
      "decoupled",
      0,
      0,
      std::move(choices),
      "decoupled: every entry decays; cautious: only entries that the update shrinks anyway (arXiv "
      "2510.12402)"};
}

OptimizerOption cautious(const std::string& meaning) {
  return {"cautious", false, 0, 0, {}, meaning + " (arXiv 2411.16085)"};
}

const char* const kCautiousUpdate = "drop entries of the update whose sign is not the gradient's";

OptimizerOption qk_clip() {
  return {"qk_clip",
          0.0,
          0,
          1e6,
          {},
          "after a step, scale queries and keys down where an attention logit was above this (Kimi "
          "K2); 0: off"};
}

// Of the AdamW that is left with the tensors an optimizer does not take.
Options partner(double rate = 3e-4, double beta1 = 0.9, double beta2 = 0.95, double floor = 1e-10,
                double decay_rate = 0) {
  Options options = {learning_rate(rate), beta("beta1", beta1, "mean gradient"),
                     beta("beta2", beta2, "mean squared gradient"), epsilon("epsilon", floor),
                     weight_decay("weight_decay", decay_rate)};
  for (OptimizerOption& option : options) option.key = "adamw." + option.key;
  return options;
}

std::vector<std::pair<std::string, Json>> partner_preset(double rate, double beta2,
                                                         double decay_rate) {
  return {{"adamw.learning_rate", rate},
          {"adamw.beta2", beta2},
          {"adamw.epsilon", 1e-8},
          {"adamw.weight_decay", decay_rate}};
}

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

// Each orthogonalizer brings its own number of steps and safety.
Presets orthogonalizer_presets() {
  Presets presets;
  for (const OrthogonalizerKind& kind : orthogonalizer_kinds()) {
    if (kind.table.empty()) continue;
    presets.push_back(
        {"orthogonalizer", kind.name, {{"steps", kind.steps}, {"safety", kind.safety}}});
  }
  return presets;
}

std::vector<std::string> all_orthogonalizers() {
  std::vector<std::string> names;
  for (const OrthogonalizerKind& kind : orthogonalizer_kinds()) names.push_back(kind.name);
  return names;
}

const std::vector<std::string> kScales = {"original", "match_rms", "spectral"};

// What the kinds that orthogonalize a momentum share.
struct MuonFamily {
  std::vector<std::string> conventions;  // the first is the default
  std::string orthogonalizer = "kj5";
  std::vector<std::string> orthogonalizers = all_orthogonalizers();
  std::vector<std::string> scales = kScales;
  std::string scale_meaning =
      "factor on the rate for an m x n matrix: sqrt(max(1, m/n)), 0.2 sqrt(max(m, n)), sqrt(m/n)";
  std::vector<std::string> decays = {"decoupled", "cautious"};
  Options own = {};
};

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
       cautious(
           "before orthogonalizing, drop entries of the momentum whose sign is not the gradient's"),
       weight_decay("weight_decay", 0.0),
       decay(family.decays),
       {"scale", Json(family.scales[0]), 0, 0, family.scales, family.scale_meaning}},
      orthogonalizer_options(family.orthogonalizer, family.orthogonalizers),
      family.own,
      {{"shadow_beta2",
        0.0,
        0,
        kLargestDecayRate,
        {},
        "keep a mean squared gradient with this decay, for a planned switch to AdamW; 0: none"},
       qk_clip()},
      partner(),
  });
}

OptimizerPreset convention(const std::string& name, const std::string& summary,
                           std::initializer_list<std::vector<std::pair<std::string, Json>>> parts) {
  OptimizerPreset preset{"convention", name, {}, summary};
  for (const auto& part : parts)
    preset.defaults.insert(preset.defaults.end(), part.begin(), part.end());
  return preset;
}

// Turbo-Muon keeps its own orthogonalizer in dion's convention.
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

Presets normuon_presets() {
  Presets presets = orthogonalizer_presets();
  presets.push_back(convention("official", "github.com/zichongli5/NorMuon", {}));
  presets.push_back(convention(
      "paper", "arXiv 2510.05491: no Nesterov, the root mean square of an update is .2 rate",
      {{{"learning_rate", 1e-3}, {"nesterov", false}, {"scale", "rms"}}}));
  presets.push_back(convention("dion", "github.com/microsoft/dion",
                               {{{"learning_rate", 0.01},
                                 {"momentum_form", "accumulate"},
                                 {"nesterov", false},
                                 {"weight_decay", 0.01},
                                 {"scale", "spectral"},
                                 {"orthogonalizer", "polar_express"}},
                                partner_preset(3e-4, 0.95, 0.01)}));
  presets.push_back(convention("modded_nanogpt",
                               "github.com/KellerJordan/modded-nanogpt: statistics of columns for "
                               "wide matrices, decay by the rate squared",
                               {{{"learning_rate", 0.023},
                                 {"weight_decay", 1.2},
                                 {"decay", "cautious_squared"},
                                 {"orthogonalizer", "polar_express"},
                                 {"beta2", 0.9}}}));
  return presets;
}

Presets muon_all_presets() {
  Presets presets = orthogonalizer_presets();
  presets.push_back({"orthogonalizer", "kj5", {{"steps", int64_t{6}}}});
  presets.push_back(convention("muon_all", "MuonAll: accumulating momentum, six steps",
                               {{{"momentum_form", "accumulate"}}}));
  return presets;
}

const std::vector<std::string> kMuonConventions = {"keller_jordan", "torch", "moonlight",
                                                   "speculators", "dion"};

std::vector<OptimizerKind> make_kinds() {
  std::vector<OptimizerKind> kinds;
  kinds.push_back({"adamw",
                   "Adam with decoupled weight decay, on every tensor",
                   "Loshchilov and Hutter 2019, arXiv 1711.05101; defaults of torch.optim.AdamW",
                   "adamw",
                   true,
                   "W <- W (1 - eta lambda)\n"
                   "M <- beta1 M + (1 - beta1) G\n"
                   "V <- beta2 V + (1 - beta2) G^2\n"
                   "W <- W - eta (M / (1 - beta1^t)) / (sqrt(V / (1 - beta2^t)) + epsilon)",
                   joined({{learning_rate(1e-3), beta("beta1", 0.9, "mean gradient"),
                            beta("beta2", 0.999, "mean squared gradient"), epsilon("epsilon", 1e-8),
                            weight_decay("weight_decay", 1e-2), decay(), cautious(kCautiousUpdate),
                            qk_clip()}}),
                   {}});
  kinds.push_back(
      {"lion",
       "the sign of a mean gradient, on every tensor",
       "Chen et al. 2023, arXiv 2302.06675",
       "lion",
       true,
       "U = sign(beta1 M + (1 - beta1) G)\n"
       "M <- beta2 M + (1 - beta2) G\n"
       "W <- W (1 - eta lambda) - eta U",
       {learning_rate(1e-4), beta("beta1", 0.9, "mean gradient as the update sees it"),
        beta("beta2", 0.99, "mean gradient as it is kept"), weight_decay("weight_decay", 0.0),
        decay(), cautious(kCautiousUpdate), qk_clip()},
       {}});
  kinds.push_back(
      {"adam_mini",
       "AdamW with one second moment per block: a head of q and k, a row of other matrices, a "
       "vector",
       "Zhang et al. 2024, arXiv 2406.16793",
       "adam_mini",
       true,
       "M <- beta1 M + (1 - beta1) G\n"
       "v_b <- beta2 v_b + (1 - beta2) mean of G^2 over block b\n"
       "W <- W (1 - eta lambda) - eta (M / (1 - beta1^t)) / (sqrt(v_b / (1 - beta2^t)) + epsilon)",
       {learning_rate(1e-3), beta("beta1", 0.9, "mean gradient"),
        beta("beta2", 0.999, "mean squared gradient"), epsilon("epsilon", 1e-8),
        weight_decay("weight_decay", 0.0), qk_clip()},
       {}});
  kinds.push_back({"muon", "momentum, orthogonalized, on matrices; AdamW on the rest",
                   "Jordan et al. 2024, github.com/KellerJordan/Muon", "muon", false,
                   "M <- mu M + (1 - mu) G            momentum_form accumulate: mu M + G\n"
                   "U = (1 - mu) G + mu M             accumulate: G + mu M; nesterov false: M\n"
                   "O = orthogonalize(U)\n"
                   "W <- W (1 - eta lambda) - eta scale O",
                   muon_options({.conventions = kMuonConventions}), muon_presets(false)});
  kinds.push_back(
      {"normuon", "Muon with rows rescaled by their running mean square",
       "Li et al. 2025, arXiv 2510.05491; defaults of github.com/zichongli5/NorMuon", "normuon",
       false,
       "O as in Muon\n"
       "V_i <- beta2 V_i + (1 - beta2) mean over row i of O^2\n"
       "O_ij <- O_ij / sqrt(V_i), then O is scaled back to the norm that it had\n"
       "W <- W (1 - eta lambda) - eta scale O",
       muon_options(
           {.conventions = {"official", "paper", "dion", "modded_nanogpt"},
            .scales = {"original", "match_rms", "spectral", "rms"},
            .scale_meaning =
                "factor on the rate for an m x n matrix: sqrt(max(1, m/n)), 0.2 sqrt(max(m, n)), "
                "sqrt(m/n), and 0.2 sqrt(m n) over the norm of O",
            .decays = {"decoupled", "cautious", "cautious_squared"},
            .own = {beta("beta2", 0.95, "mean square of each row")}}),
       normuon_presets()});
  kinds.push_back(
      {"turbo_muon", "Muon with rows scaled before a shorter Newton-Schulz",
       "Boissin et al. 2025, arXiv 2512.04632; github.com/thib-s/flash-newton-schulz", "turbo_muon",
       false,
       "U as in Muon, A = U U^T\n"
       "row i of U times 1 / sqrt(sum over j of |A_ij|), then four quintics of its own\n"
       "W <- W (1 - eta lambda) - eta scale O",
       muon_options({.conventions = kMuonConventions,
                     .orthogonalizer = "turbo",
                     .orthogonalizers = {"turbo", "schatten4"}}),
       muon_presets(true)});
  kinds.push_back({"muon_all", "Muon on every tensor: a vector is a diagonal matrix",
                   "MuonAll, arXiv 2511.06086", "muon_all", true,
                   "matrices as in Muon; a vector g goes through the polynomials entry by entry:\n"
                   "y = g / norm(g), then `steps` times y <- a y + b y^3 + c y^5",
                   muon_options({.conventions = {"muon_all"}}), muon_all_presets()});
  kinds.push_back(
      {"soap",
       "AdamW in the eigenbasis of Shampoo's preconditioners, on matrices; AdamW on the rest",
       "Vyas et al. 2024, arXiv 2409.11321",
       "soap",
       false,
       "L <- beta2 L + (1 - beta2) G G^T, R <- beta2 R + (1 - beta2) G^T G\n"
       "Q_L, Q_R: eigenvectors of L and R, then Q <- qr(L Q) every precondition_every steps\n"
       "Adam on Q_L^T G Q_R, rotated back; the first step only fills L and R\n"
       "W <- W - eta update, then W <- W (1 - eta lambda)",
       joined({{learning_rate(3e-3),
                beta("beta1", 0.95, "mean gradient"),
                beta("beta2", 0.95, "mean squared gradient, and of L and R"),
                epsilon("epsilon", 1e-8),
                weight_decay("weight_decay", 0.01),
                {"precondition_every", int64_t{10}, 1, 1e6, {}, "steps between new eigenbases"},
                {"largest_side",
                 int64_t{10000},
                 1,
                 1e6,
                 {},
                 "a longer side of a matrix is not rotated"},
                qk_clip()},
               partner(3e-3, 0.95, 0.95, 1e-8, 0.01)}),
       {}});
  kinds.push_back(
      {"shampoo",
       "gradients preconditioned on both sides, with Adam's step size, on matrices; AdamW on the "
       "rest",
       "Gupta et al. 2018, arXiv 1802.09568; grafting and constants of distributed Shampoo",
       "shampoo",
       false,
       "L <- beta2 L + (1 - beta2) G G^T, R <- beta2 R + (1 - beta2) G^T G\n"
       "U = L^(-1/4) M R^(-1/4), roots anew every precondition_every steps, M the mean gradient\n"
       "W <- W (1 - eta lambda) - eta U norm(Adam's update) / norm(U)",
       joined({{learning_rate(1e-3),
                beta("beta1", 0.95, "mean gradient"),
                beta("beta2", 0.95, "L, R and of the mean squared gradient of Adam's step size"),
                epsilon("epsilon", 1e-12),
                weight_decay("weight_decay", 0.0),
                {"precondition_every", int64_t{10}, 1, 1e6, {}, "steps between new roots"},
                qk_clip()},
               partner(1e-3, 0.95, 0.95, 1e-8, 0)}),
       {}});
  return kinds;
}

}  // namespace

const std::vector<OptimizerKind>& optimizer_kinds() {
  static const std::vector<OptimizerKind> kinds = make_kinds();
  return kinds;
}

}  // namespace draftlab
