#pragma once

#include <cstdint>
#include <vector>

#include "record/optimizer_config.h"
#include "record/routing.h"

namespace draftlab {

// What the updates of a step cost besides passes over the weights, as their sources state them; the
// kernels use symmetry and need fewer operations (docs/optimizers.md).
struct UpdateCost {
  double state_bytes = 0;  // kept from step to step, float32; counters of steps are left out
  int64_t products = 0;    // of matrices, in every step
  // Operations, 2 a multiply-add: of the products and of decompositions, spread over the steps
  // between them: 4 m^2 n + 22 m^3, m <= n, for singular values and vectors, 9 n^3 for the
  // eigenvectors of an n x n matrix, 8/3 n^3 for its QR factors (Golub and Van Loan, 5.2 and 8.3).
  double flop = 0;
};

UpdateCost update_cost(const Route& route, const OptimizerConfig& optimizer);
// Summed over a table.
UpdateCost update_cost(const std::vector<Route>& table, const OptimizerConfig& optimizer);

}  // namespace draftlab
