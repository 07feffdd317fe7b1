#include <functional>
#include <numeric>

#include "record/optimizers/options.h"

namespace draftlab::optimizers {
namespace {

// The entries of each block: those of a split, else each row of a matrix, else the whole.
std::vector<int64_t> blocks(const Route& route) {
  const auto product = [](auto from, auto to) {
    return std::accumulate(from, to, int64_t{1}, std::multiplies<>());
  };
  if (route.shape.size() < 2) return {product(route.shape.begin(), route.shape.end())};
  const int64_t row = product(route.shape.begin() + 1, route.shape.end());
  if (route.split.size() == 1) return std::vector<int64_t>(route.shape[0], row);
  std::vector<int64_t> sizes;
  for (const int64_t rows : route.split) sizes.push_back(rows * row);
  return sizes;
}

std::vector<Buffer> buffers(const OptimizerConfig& options, const Route& route) {
  std::vector<Buffer> kept = adam_buffers(route, options.number("beta1"), options.number("beta2"));
  kept[1].blocks = blocks(route);
  kept[1].shape = {static_cast<int64_t>(kept[1].blocks.size())};
  kept[1].text = "mean squared gradient of each block";
  return kept;
}

}  // namespace

OptimizerKind adam_mini() {
  return {.name = "adam_mini",
          .title = "Adam-mini",
          .summary =
              "AdamW with one second moment per block: a head of q and k, a row of other "
              "matrices, a vector",
          .source = "Zhang et al. 2024, arXiv 2406.16793",
          .formula =
              "M <- beta1 M + (1 - beta1) G\n"
              "v_b <- beta2 v_b + (1 - beta2) mean of G^2 over block b\n"
              "W <- W (1 - eta lambda) - eta (M / (1 - beta1^t)) / (sqrt(v_b / (1 - "
              "beta2^t)) + epsilon)",
          .options = {learning_rate(1e-3), beta("beta1", 0.9, "mean gradient"),
                      beta("beta2", 0.999, "mean squared gradient"), epsilon(1e-8),
                      weight_decay(0.0), qk_clip()},
          .buffers = buffers,
          .takes_vectors = true,
          .needs_finite_gradients = false,
          .routing = {{"*.q_proj.weight", 2, 0, "matrix", {}, true},
                      {"*.k_proj.weight", 2, 0, "matrix", {}, true},
                      {"*", 0, 0, "matrix"}}};
}

}  // namespace draftlab::optimizers
