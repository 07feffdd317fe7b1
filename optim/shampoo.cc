#include "optim/shampoo.h"

#include <ATen/ATen.h>

#include <limits>

namespace draftlab {

at::Tensor shampoo_direction(const at::Tensor& gradient, Shampoo& state, const AdamWStep& step,
                             Workspace& workspace) {
  const AdamWConstants<double> k(step);
  state.m.mul_(k.beta1).add_(gradient, k.rest1);
  state.v.mul_(k.beta2).addcmul_(gradient, gradient, k.rest2);
  at::Tensor u = workspace.matrix(0, gradient.size(0), gradient.size(1), gradient);
  at::Tensor other = workspace.matrix(1, gradient.size(0), gradient.size(1), gradient);
  at::sqrt_out(other, state.v).mul_(k.scale).add_(k.epsilon).reciprocal_().mul_(state.m);
  const at::Tensor length =
      at::linalg_vector_norm(other).mul_(1 / (1 - std::pow(step.beta1, step.m_steps)));
  at::mm_out(other, state.left_root, state.m);
  at::mm_out(u, other, state.right_root);
  const at::Tensor norm = at::linalg_vector_norm(u);
  return u.mul_(at::where(norm == 0, 0, length / norm));
}

at::Tensor inverse_fourth_root(const at::Tensor& p, double epsilon) {
  const auto [values, vectors] = at::linalg_eigh(p.to(at::kDouble));  // ascending
  const double rounding = p.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                         : std::numeric_limits<float>::epsilon();
  const double largest = values[-1].item<double>();
  if (largest <= 0) return at::eye(p.size(0), p.options());
  const at::Tensor roots =
      values.clamp_min(0).add_(largest * std::max(epsilon, rounding)).pow_(-0.25);
  return (vectors * roots).mm(vectors.t()).to(p.scalar_type());
}

}  // namespace draftlab
