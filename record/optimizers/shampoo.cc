#include "record/optimizers/two_sided.h"

namespace draftlab::optimizers {
namespace {

std::vector<Buffer> buffers(const OptimizerConfig& options, const Route& route) {
  std::vector<Buffer> kept =
      two_sided_buffers(options, route, "root", "inverse fourth root of the mean ");
  const std::vector<Buffer> moments =
      adam_buffers(route, options.number("beta1"), options.number("beta2"));
  kept.insert(kept.begin(), moments.begin(), moments.end());
  return kept;
}

// Renews by an eigendecomposition and a product.
UpdateWork work(const OptimizerConfig& options, const Route& route) {
  return two_sided_work(options, route, 1, 9 + 2);
}

}  // namespace

OptimizerKind shampoo() {
  return {.name = "shampoo",
          .title = "Shampoo",
          .summary =
              "gradients preconditioned on both sides, with Adam's step size, on matrices; AdamW "
              "on the rest",
          .source =
              "Gupta et al. 2018, arXiv 1802.09568; grafting and constants of distributed "
              "Shampoo",
          .formula =
              "L <- beta2 L + (1 - beta2) G G^T, R <- beta2 R + (1 - beta2) G^T G\n"
              "U = L^(-1/4) M R^(-1/4), roots anew every precondition_every steps, M the mean "
              "gradient\n"
              "W <- W (1 - eta lambda) - eta U norm(Adam's update) / norm(U)",
          .options = joined(
              {{learning_rate(1e-3), beta("beta1", 0.95, "mean gradient"),
                beta("beta2", 0.95, "L, R and of the mean squared gradient of Adam's step size"),
                epsilon(1e-12), weight_decay(0.0), precondition_every("steps between new roots"),
                qk_clip()},
               partner(1e-3, 0.95, 0.95, 1e-8, 0)}),
          .buffers = buffers,
          .work = work,
          .period = "precondition_every"};
}

}  // namespace draftlab::optimizers
