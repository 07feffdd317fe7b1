#include "record/optimizers/normuon.h"

#include "record/hyperball.h"
#include "record/optimizers/muon_family.h"

namespace draftlab {

bool evens_out_columns(const OptimizerConfig& options, int64_t rows, int64_t cols) {
  return options.text("convention") == "modded_nanogpt" && rows < cols;
}

}  // namespace draftlab

namespace draftlab::optimizers {
namespace {

Presets presets() {
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

// The mean squares of block after block in one column.
std::vector<Buffer> buffers(const OptimizerConfig& options, const Route& route) {
  const int64_t cols = route.shape.at(1);
  int64_t count = 0;
  for (const int64_t rows : route.split)
    count += evens_out_columns(options, rows, cols) ? cols : rows;
  std::vector<Buffer> kept = muon_buffers(options, route);
  const bool longer = options.text("convention") == "modded_nanogpt";
  kept.push_back(other_buffer(longer ? "mean_square" : "row_mean_square", {count, 1},
                              longer ? "mean square of O in each row, or column of a wide block"
                                     : "mean square of O in each row"));
  return kept;
}

}  // namespace

OptimizerKind normuon() {
  return with_hyperball(
      {.name = "normuon",
       .title = "NorMuon",
       .summary = "Muon with rows rescaled by their running mean square",
       .source = "Li et al. 2025, arXiv 2510.05491; defaults of github.com/zichongli5/NorMuon",
       .formula = "O as in Muon\n"
                  "V_i <- beta2 V_i + (1 - beta2) mean over row i of O^2\n"
                  "O_ij <- O_ij / sqrt(V_i), then O is scaled back to the norm that it had\n"
                  "W <- W (1 - eta lambda) - eta scale O",
       .options = muon_options(
           {.conventions = {"official", "paper", "dion", "modded_nanogpt"},
            .scales = {"original", "match_rms", "spectral", "rms"},
            .scale_meaning =
                "factor on the rate for an m x n matrix: sqrt(max(1, m/n)), 0.2 sqrt(max(m, "
                "n)), sqrt(m/n), and 0.2 sqrt(m n) over the norm of O",
            .decays = {"decoupled", "cautious", "cautious_squared"},
            .own = {beta("beta2", 0.95, "mean square of each row")}}),
       .buffers = buffers,
       .presets = presets(),
       .work = orthogonalization_work});
}

}  // namespace draftlab::optimizers
