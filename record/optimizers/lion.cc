#include "record/optimizers/options.h"

namespace draftlab::optimizers {
namespace {

// Lion corrects no bias, but a successor of it may have to: the counter says how young M is.
std::vector<Buffer> buffers(const OptimizerConfig& options, const Route& route) {
  return {mean_gradient("exp_avg", route, options.number("beta2"))};
}

}  // namespace

OptimizerKind lion() {
  return {
      .name = "lion",
      .title = "Lion",
      .summary = "the sign of a mean gradient, on every tensor",
      .source = "Chen et al. 2023, arXiv 2302.06675",
      .formula =
          "U = sign(beta1 M + (1 - beta1) G)\n"
          "M <- beta2 M + (1 - beta2) G\n"
          "W <- W (1 - eta lambda) - eta U",
      .options = {learning_rate(1e-4), beta("beta1", 0.9, "mean gradient as the update sees it"),
                  beta("beta2", 0.99, "mean gradient as it is kept"), weight_decay(0.0), decay(),
                  cautious_update(), qk_clip()},
      .buffers = buffers,
      .takes_vectors = true,
      .needs_finite_gradients = false};
}

}  // namespace draftlab::optimizers
