#include "record/update_cost.h"

#include "record/orthogonalizer.h"

namespace draftlab {
namespace {

constexpr double kNumber = 4;  // bytes of a float32

double elements(const std::vector<int64_t>& shape) {
  double count = 1;
  for (const int64_t side : shape) count *= static_cast<double>(side);
  return count;
}

double adam_mini_blocks(const Route& route) {
  if (route.split.size() > 1) return static_cast<double>(route.split.size());
  return route.shape.size() == 2 ? static_cast<double>(route.shape[0]) : 1;
}

// NorMuon's mean squares: one a row; modded-nanogpt's one a column of a block that is wide.
double normuon_statistics(const Route& route, const OptimizerConfig& optimizer) {
  double count = 0;
  for (const int64_t rows : route.split) {
    const bool columns = optimizer.text("convention") == "modded_nanogpt" && rows < route.shape[1];
    count += static_cast<double>(columns ? route.shape[1] : rows);
  }
  return count;
}

UpdateCost orthogonalization_cost(const Route& route, const OptimizerConfig& optimizer) {
  const OrthogonalizerKind& kind =
      orthogonalizer_kind(optimizer.text("orthogonalizer"), "orthogonalizer");
  UpdateCost cost;
  for (const int64_t rows : route.split) {
    const ProductCount count = count_products(
        kind, optimizer.has("steps") ? optimizer.integer("steps") : 0,
        optimizer.has("restart") ? optimizer.integer("restart") : -1, rows, route.shape[1]);
    cost.products += count.products;
    cost.flop += count.flop;
  }
  return cost;
}

// SOAP and Shampoo keep for each side of a block a mean of G G^T (or G^T G), and its eigenvectors
// or its root. `passes`: how often a matrix of the block's shape is multiplied by the latter in a
// step; `renewal`: operations over side^3 of making it anew.
UpdateCost two_sided_cost(const Route& route, const OptimizerConfig& optimizer, int64_t passes,
                          double renewal) {
  const double every = static_cast<double>(optimizer.integer("precondition_every"));
  UpdateCost cost;
  for (const int64_t rows : route.split) {
    const double size = static_cast<double>(rows * route.shape[1]);
    for (const int64_t whole : {rows, route.shape[1]}) {
      if (optimizer.has("largest_side") && whole > optimizer.integer("largest_side")) continue;
      const auto side = static_cast<double>(whole);
      cost.state_bytes += 2 * kNumber * side * side;
      cost.products += 1 + passes;
      cost.flop +=
          static_cast<double>(1 + passes) * 2 * size * side + renewal * side * side * side / every;
    }
  }
  return cost;
}

}  // namespace

UpdateCost update_cost(const Route& route, const OptimizerConfig& optimizer) {
  const std::string& rule = route.rule;
  const bool matrix = route.shape.size() == 2;
  const double size = kNumber * elements(route.shape);
  UpdateCost cost;
  if (rule == "frozen") return cost;
  // SOAP rotates the gradient and its mean there and the update back, and renews by a product and a
  // QR decomposition; Shampoo by an eigendecomposition and a product.
  if (matrix && rule == "soap") cost = two_sided_cost(route, optimizer, 3, 2 + 8. / 3);
  if (matrix && rule == "shampoo") cost = two_sided_cost(route, optimizer, 1, 9 + 2);
  if (rule == "adamw" || rule == "soap" || rule == "shampoo") {
    cost.state_bytes += 2 * size;
    return cost;
  }
  if (matrix && optimizer.has("orthogonalizer")) cost = orthogonalization_cost(route, optimizer);
  cost.state_bytes += size;
  if (rule == "adam_mini") cost.state_bytes += kNumber * adam_mini_blocks(route);
  if (rule == "normuon") cost.state_bytes += kNumber * normuon_statistics(route, optimizer);
  if (optimizer.has("shadow_beta2") && optimizer.number("shadow_beta2") > 0)
    cost.state_bytes += size;
  return cost;
}

UpdateCost update_cost(const std::vector<Route>& table, const OptimizerConfig& optimizer) {
  UpdateCost total;
  for (const Route& route : table) {
    const UpdateCost cost = update_cost(route, optimizer);
    total.state_bytes += cost.state_bytes;
    total.products += cost.products;
    total.flop += cost.flop;
  }
  return total;
}

}  // namespace draftlab
