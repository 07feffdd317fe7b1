#include "record/hyperball.h"
#include "record/optimizers/two_sided.h"

namespace draftlab::optimizers {
namespace {

// M is not rotated, so that another optimizer can take it over. V is, and so has another name than
// AdamW's and means nothing elsewhere.
std::vector<Buffer> buffers(const OptimizerConfig& options, const Route& route) {
  Buffer mean = mean_gradient("exp_avg", route, options.number("beta1"));
  mean.divided_by = "exp_avg_sq_rotated";
  Buffer square =
      other_buffer("exp_avg_sq_rotated", route.shape, "mean squared gradient in the eigenbases");
  square.steps = "exp_avg_sq_rotated_steps";
  std::vector<Buffer> kept =
      two_sided_buffers(options, route, "basis", "eigenvectors of the mean ");
  kept.insert(kept.begin(), {mean, square});
  return kept;
}

// Rotates the gradient and its mean there and the update back; renews by a product and a QR
// decomposition.
UpdateWork work(const OptimizerConfig& options, const Route& route) {
  return two_sided_work(options, route, 3, 2 + 8. / 3);
}

}  // namespace

OptimizerKind soap() {
  return with_hyperball(
      {.name = "soap",
       .title = "SOAP",
       .summary = "AdamW in the eigenbasis of Shampoo's preconditioners, on matrices; AdamW on the "
                  "rest",
       .source = "Vyas et al. 2024, arXiv 2409.11321",
       .formula = "L <- beta2 L + (1 - beta2) G G^T, R <- beta2 R + (1 - beta2) G^T G\n"
                  "Q_L, Q_R: eigenvectors of L and R, then Q <- qr(L Q) every precondition_every "
                  "steps\n"
                  "Adam on Q_L^T G Q_R, rotated back; the first step only fills L and R\n"
                  "W <- W - eta update, then W <- W (1 - eta lambda)",
       .options = joined({{learning_rate(3e-3),
                           beta("beta1", 0.95, "mean gradient"),
                           beta("beta2", 0.95, "mean squared gradient, and of L and R"),
                           epsilon(1e-8),
                           weight_decay(0.01),
                           precondition_every("steps between new eigenbases"),
                           {"largest_side",
                            int64_t{10000},
                            1,
                            1e6,
                            {},
                            "a longer side of a matrix is not rotated"},
                           qk_clip()},
                          partner(3e-3, 0.95, 0.95, 1e-8, 0.01)}),
       .buffers = buffers,
       .work = work,
       .period = "precondition_every"});
}

}  // namespace draftlab::optimizers
