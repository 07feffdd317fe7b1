#include "record/hyperball.h"
#include "record/optimizers/options.h"

namespace draftlab::optimizers {
namespace {

std::vector<Buffer> buffers(const OptimizerConfig& options, const Route& route) {
  return adam_buffers(route, options.number("beta1"), options.number("beta2"));
}

}  // namespace

OptimizerKind adamw() {
  return with_hyperball(
      {.name = "adamw",
       .title = "AdamW",
       .summary = "Adam with decoupled weight decay, on every tensor",
       .source = "Loshchilov and Hutter 2019, arXiv 1711.05101; defaults of torch.optim.AdamW",
       .formula = "W <- W (1 - eta lambda)\n"
                  "M <- beta1 M + (1 - beta1) G\n"
                  "V <- beta2 V + (1 - beta2) G^2\n"
                  "W <- W - eta (M / (1 - beta1^t)) / (sqrt(V / (1 - beta2^t)) + epsilon)",
       .options = {learning_rate(1e-3), beta("beta1", 0.9, "mean gradient"),
                   beta("beta2", 0.999, "mean squared gradient"), epsilon(1e-8), weight_decay(1e-2),
                   decay(), cautious_update(), qk_clip()},
       .buffers = buffers,
       .takes_vectors = true,
       .needs_finite_gradients = false});
}

}  // namespace draftlab::optimizers
