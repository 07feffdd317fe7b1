#include "record/orthogonalizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"

namespace draftlab {

const std::vector<OrthogonalizerKind>& orthogonalizer_kinds() {
  static const std::vector<OrthogonalizerKind> kinds = {
      {.name = "kj5",
       .summary =
           "Newton-Schulz, one quintic for all steps; singular values end between .68 and 1.20",
       .source = "github.com/KellerJordan/Muon",
       .normalizer = "frobenius",
       .table = "kj5",
       .steps = 5,
       .fewest_steps = 1,
       .epsilon = 1e-7},
      {.name = "you5",
       .summary = "Newton-Schulz with a quintic for each step; ends between .98 and 1.15",
       .source = "Jiacheng You; dion, NVIDIA Emerging-Optimizers \"quintic\"",
       .normalizer = "frobenius",
       .table = "you5",
       .steps = 5,
       .fewest_steps = 1,
       .epsilon = 1e-7},
      {.name = "dsv4_10",
       .summary = "eight steps of kj5 and two that polish; ends within .0005 of 1",
       .source = "DeepSeek-V4",
       .normalizer = "frobenius",
       .table = "dsv4_10",
       .steps = 10,
       .fewest_steps = 10,
       .epsilon = 1e-7},
      {.name = "cubic5",
       .summary = "five tuned cubics, two products a step",
       .source = "arXiv 2606.00371; NVIDIA Emerging-Optimizers \"cubic5\"",
       .normalizer = "frobenius",
       .table = "cubic5",
       .steps = 5,
       .fewest_steps = 5,
       .epsilon = 1e-7,
       .cubic = true},
      {.name = "classic3",
       .summary = "the Newton-Schulz cubic (3x - x^3)/2: slow, and exact in the limit",
       .source = "Bjorck and Bowie 1971",
       .normalizer = "frobenius",
       .table = "classic3",
       .steps = 12,
       .fewest_steps = 1,
       .epsilon = 1e-7,
       .cubic = true},
      {.name = "classic5",
       .summary = "the Newton-Schulz quintic (15x - 10x^3 + 3x^5)/8: slow, and exact in the limit",
       .source = "Bjorck and Bowie 1971",
       .normalizer = "frobenius",
       .table = "classic5",
       .steps = 10,
       .fewest_steps = 1,
       .epsilon = 1e-7},
      {.name = "polar_express",
       .summary =
           "the best quintics for singular values above lower_bound, computed for these options",
       .source =
           "Amsel et al. 2025, arXiv 2505.16932; constants of modded-nanogpt, dion and nanochat",
       .normalizer = "frobenius",
       .table = "generated",
       .steps = 5,
       .fewest_steps = 1,
       .safety = 0.02,
       .epsilon = 1e-6},
      {.name = "cans5",
       .summary = "Chebyshev-type quintics; blows up above 1, hence the safety",
       .source = "Grishina et al. 2025, arXiv 2506.10935; NVIDIA Emerging-Optimizers \"cans\"",
       .normalizer = "frobenius",
       .table = "cans5",
       .steps = 5,
       .fewest_steps = 5,
       .safety = 0.01,
       .epsilon = 1e-7},
      {.name = "turbo",
       .summary = "rows scaled by almost-orthogonal layers, then four quintics",
       .source = "Boissin et al. 2025, arXiv 2512.04632; github.com/thib-s/flash-newton-schulz",
       .normalizer = "aol",
       .table = "aol4",
       .steps = 4,
       .fewest_steps = 4,
       .epsilon = 1e-7,
       .at_least = true},
      {.name = "schatten4",
       .summary = "divided by the Schatten-4 norm, up to three times as tight as Frobenius; then "
                  "turbo's quintics",
       .source = "optax \"schatten\"; Grishina et al. 2025, arXiv 2506.10935",
       .normalizer = "schatten4",
       .table = "aol4",
       .steps = 4,
       .fewest_steps = 4,
       .epsilon = 1e-8,
       .at_least = true},
      {.name = "gram_newton_schulz",
       .summary = "Polar Express on the Gram matrix, with X formed anew before step `restart`",
       .source = "github.com/Dao-AILab/gram-newton-schulz",
       .normalizer = "frobenius",
       .table = "pe5_gns",
       .steps = 5,
       .fewest_steps = 5,
       .epsilon = 1e-7,
       .restart = 2},
      {.name = "exact",
       .summary = "the polar factor by singular value decomposition: slow, for reference",
       .source = "definition"},
  };
  return kinds;
}

const OrthogonalizerKind& orthogonalizer_kind(const std::string& name, const std::string& where) {
  if (name == "aol4_old") {
    throw Error(where,
                "'aol4_old' is the earlier table of flash-newton-schulz (\"aol\" in "
                "Emerging-Optimizers), whose "
                "chain maps 1 to -.99: the largest singular direction comes out with its sign "
                "flipped, so that "
                "training ascends along it; use turbo");
  }
  const auto& kinds = orthogonalizer_kinds();
  std::vector<std::string> names;
  for (const OrthogonalizerKind& kind : kinds) names.push_back(kind.name);
  require_one_of(name, names, where);
  return *std::find_if(kinds.begin(), kinds.end(),
                       [&](const OrthogonalizerKind& kind) { return kind.name == name; });
}

ProductCount count_products(const OrthogonalizerKind& kind, int64_t steps, int64_t restart,
                            int64_t rows, int64_t cols) {
  const auto m = static_cast<double>(std::min(rows, cols)),
             n = static_cast<double>(std::max(rows, cols));
  const double wide = 2 * m * m * n, square = 2 * m * m * m;  // one product each
  if (kind.table.empty()) return {0, 4 * m * m * n + 22 * m * m * m};
  if (kind.restart < 0 || rows == cols) {
    if (kind.cubic) return {2 * steps, static_cast<double>(steps) * 2 * wide};
    return {3 * steps, static_cast<double>(steps) * (2 * wide + square)};
  }
  // A run of k steps: R R for each polynomial; Q Z but for the first; P R and (P R) P but for the
  // last.
  const int64_t runs = restart > 0 && restart < steps ? 2 : 1;
  const int64_t squares = steps + (steps - runs) + 2 * (steps - runs);
  return {squares + 2 * runs,
          static_cast<double>(squares) * square + static_cast<double>(2 * runs) * wide};
}

}  // namespace draftlab
