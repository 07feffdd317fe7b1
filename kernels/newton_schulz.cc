#include "kernels/newton_schulz.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace draftlab {
namespace {

constexpr double kEpsilon = 1e-7;

at::Tensor divided_by_largest_entry(const at::Tensor& x) {
  const at::Tensor largest = x.abs().max();
  return x / at::where(largest == 0, 1, largest);
}

at::Tensor divisor(const at::Tensor& norm, Normalization normalization) {
  switch (normalization) {
    case Normalization::kPlusEpsilon:
      return norm + kEpsilon;
    case Normalization::kAtLeastEpsilon:
      return norm.clamp_min(kEpsilon);
    default:
      return norm.clamp_min(1);  // the largest entry is 1, so only a zero matrix is below
  }
}

at::Tensor step(const at::Tensor& x, const at::Tensor& gram, const Quintic& p) {
  const at::Tensor b = p.b * gram + p.c * gram.mm(gram);
  return p.a * x + b.mm(x);
}

}  // namespace

const std::vector<Quintic>& keller_jordan_quintics() {
  static const std::vector<Quintic> table = {{3.4445, -4.7750, 2.0315}};
  return table;
}

const std::vector<Quintic>& aol_quintics() {
  static const std::vector<Quintic> table = {{4.6051, -9.6552, 5.6769},
                                             {4.7505, -6.0861, 2.1790},
                                             {2.7763, -2.3190, 0.5523},
                                             {2.4231, -2.2861, 0.8193}};
  return table;
}

const Quintic& quintic(const std::vector<Quintic>& table, int64_t k) {
  return table[std::min<int64_t>(k, table.size() - 1)];
}

at::Tensor newton_schulz(const at::Tensor& input, int64_t steps, Normalization normalization) {
  TORCH_CHECK(input.dim() == 2, "newton_schulz: needs a matrix, has ", input.dim(), " dimensions");
  if (input.size(0) > input.size(1)) return newton_schulz(input.t(), steps, normalization).t();
  at::Tensor x = input;
  if (normalization == Normalization::kScaleFree) x = divided_by_largest_entry(x);
  x = x / divisor(x.norm(), normalization);
  for (int64_t k = 0; k < steps; ++k)
    x = step(x, x.mm(x.t()), quintic(keller_jordan_quintics(), k));
  return x;
}

at::Tensor turbo_newton_schulz(const at::Tensor& input, int64_t steps,
                               Normalization normalization) {
  TORCH_CHECK(input.dim() == 2, "turbo_newton_schulz: needs a matrix, has ", input.dim(),
              " dimensions");
  TORCH_CHECK(steps >= static_cast<int64_t>(aol_quintics().size()),
              "turbo_newton_schulz: needs 4 steps or more");
  if (input.size(0) > input.size(1))
    return turbo_newton_schulz(input.t(), steps, normalization).t();
  at::Tensor x = input;
  if (normalization == Normalization::kScaleFree) x = divided_by_largest_entry(x);
  at::Tensor gram = x.mm(x.t());
  const at::Tensor s =
      gram.abs().sum(1, /*keepdim=*/true).clamp_min(kEpsilon).rsqrt();  // [rows, 1]
  x = x * s;
  gram = gram * s * s.t();
  for (int64_t k = 0; k < steps; ++k) {
    if (k > 0) gram = x.mm(x.t());
    x = step(x, gram, quintic(aol_quintics(), k));
  }
  return x;
}

at::Tensor polar_factor(const at::Tensor& x) {
  const auto [u, s, vh] = at::linalg_svd(x, /*full_matrices=*/false);
  const double tolerance = x.scalar_type() == at::kDouble ? 1e-12 : 1e-6;
  // A NaN compares as false, and must not be dropped with the small ones.
  const at::Tensor keep = at::logical_not(s <= s.max() * tolerance);
  return (u * keep.to(u.scalar_type())).mm(vh);
}

}  // namespace draftlab
