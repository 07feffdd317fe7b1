#include "optim/clipping.h"

#include <ATen/ATen.h>

#include <cmath>

namespace draftlab {

double clip_gradients(NamedTensors& gradients, double max_norm) {
  double squares = 0;
  for (const auto& [name, gradient] : gradients) {
    const double norm =
        at::linalg_vector_norm(gradient, 2, std::nullopt, /*keepdim=*/false, at::kDouble)
            .item<double>();
    squares += norm * norm;
  }
  const double norm = std::sqrt(squares);
  const double factor = max_norm / (norm + 1e-6);
  if (max_norm > 0 && std::isfinite(norm) && factor < 1) {
    for (auto& [name, gradient] : gradients) gradient.mul_(factor);
  }
  return norm;
}

}  // namespace draftlab
