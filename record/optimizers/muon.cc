#include "record/hyperball.h"
#include "record/optimizers/muon_family.h"

namespace draftlab::optimizers {

OptimizerKind muon() {
  return with_hyperball(
      {.name = "muon",
       .title = "Muon",
       .summary = "momentum, orthogonalized, on matrices; AdamW on the rest",
       .source = "Jordan et al. 2024, github.com/KellerJordan/Muon",
       .formula = "M <- mu M + (1 - mu) G            momentum_form accumulate: mu M + G\n"
                  "U = (1 - mu) G + mu M             accumulate: G + mu M; nesterov false: M\n"
                  "O = orthogonalize(U)\n"
                  "W <- W (1 - eta lambda) - eta scale O",
       .options = muon_options({.conventions = muon_conventions()}),
       .buffers = muon_buffers,
       .presets = muon_presets(false),
       .work = orthogonalization_work});
}

}  // namespace draftlab::optimizers
