#include "record/optimizers/muon_family.h"

namespace draftlab::optimizers {
namespace {

Presets presets() {
  Presets presets = orthogonalizer_presets();
  presets.push_back({"orthogonalizer", "kj5", {{"steps", int64_t{6}}}});
  presets.push_back(convention("muon_all", "MuonAll: accumulating momentum, six steps",
                               {{{"momentum_form", "accumulate"}}}));
  return presets;
}

}  // namespace

OptimizerKind muon_all() {
  return {.name = "muon_all",
          .title = "MuonAll",
          .summary = "Muon on every tensor: a vector is a diagonal matrix",
          .source = "MuonAll, arXiv 2511.06086",
          .formula =
              "matrices as in Muon; a vector g goes through the polynomials entry by entry:\n"
              "y = g / norm(g), then `steps` times y <- a y + b y^3 + c y^5",
          .options = muon_options({.conventions = {"muon_all"}}),
          .buffers = muon_buffers,
          .presets = presets(),
          .takes_vectors = true,
          .work = orthogonalization_work};
}

}  // namespace draftlab::optimizers
