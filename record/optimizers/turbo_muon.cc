#include "record/hyperball.h"
#include "record/optimizers/muon_family.h"

namespace draftlab::optimizers {

OptimizerKind turbo_muon() {
  return with_hyperball(
      {.name = "turbo_muon",
       .title = "Turbo-Muon",
       .summary = "Muon with rows scaled before a shorter Newton-Schulz",
       .source = "Boissin et al. 2025, arXiv 2512.04632; github.com/thib-s/flash-newton-schulz",
       .formula = "U as in Muon, A = U U^T\n"
                  "row i of U times 1 / sqrt(sum over j of |A_ij|), then four quintics of its "
                  "own\n"
                  "W <- W (1 - eta lambda) - eta scale O",
       .options = muon_options({.conventions = muon_conventions(),
                                .orthogonalizer = "turbo",
                                .orthogonalizers = {"turbo", "schatten4"}}),
       .buffers = muon_buffers,
       .presets = muon_presets(true),
       .work = orthogonalization_work});
}

}  // namespace draftlab::optimizers
