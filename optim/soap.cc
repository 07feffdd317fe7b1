#include "optim/soap.h"

#include <ATen/ATen.h>

namespace draftlab {
namespace {

// A X B, where an undefined A or B is the identity; uses slots `free` and `free` + 1.
at::Tensor rotated(const at::Tensor& a, const at::Tensor& x, const at::Tensor& b, size_t free,
                   Workspace& workspace) {
  at::Tensor result = x;
  for (const bool left : {true, false}) {
    const at::Tensor& q = left ? a : b;
    if (!q.defined()) continue;
    at::Tensor product = workspace.matrix(free++, x.size(0), x.size(1), x);
    left ? at::mm_out(product, q, result) : at::mm_out(product, result, q);
    result = product;
  }
  return result;
}

at::Tensor transposed(const at::Tensor& q) { return q.defined() ? q.t() : q; }

// Q and V's matching side, `dim`, after one power iteration with P.
void power_iteration(const at::Tensor& p, at::Tensor& q, at::Tensor& v, int64_t dim) {
  const at::Tensor image = p.mm(q);
  const at::Tensor order = (q * image).sum(0).argsort(/*stable=*/true, 0, /*descending=*/true);
  q.copy_(std::get<0>(at::linalg_qr(image.index_select(1, order))));
  v.copy_(v.index_select(dim, order));
}

}  // namespace

at::Tensor soap_direction(const at::Tensor& gradient, Soap& state, const AdamWStep& step,
                          Workspace& workspace) {
  const AdamWConstants<double> k(step);
  state.m.mul_(k.beta1).add_(gradient, k.rest1);
  const at::Tensor ql = transposed(state.left_basis), qr = state.right_basis;
  const at::Tensor g = rotated(ql, gradient, qr, 0, workspace);
  state.v.mul_(k.beta2).addcmul_(g, g, k.rest2);
  at::Tensor divisor = workspace.matrix(2, gradient.size(0), gradient.size(1), gradient);
  at::sqrt_out(divisor, state.v).mul_(k.scale).add_(k.epsilon);
  const at::Tensor m = rotated(ql, state.m, qr, 0, workspace);
  divisor.reciprocal_().mul_(m).mul_(1 / (1 - std::pow(step.beta1, step.m_steps)));
  return rotated(state.left_basis, divisor, transposed(qr), 0, workspace);
}

void mix_in(const at::Tensor& gradient, const at::Tensor& left, const at::Tensor& right,
            double beta) {
  if (left.defined()) left.addmm_(gradient, gradient.t(), beta, 1 - beta);
  if (right.defined()) right.addmm_(gradient.t(), gradient, beta, 1 - beta);
}

void first_basis(Soap& state) {
  if (state.left.defined())
    state.left_basis.copy_(std::get<1>(at::linalg_eigh(state.left)).flip(1));
  if (state.right.defined())
    state.right_basis.copy_(std::get<1>(at::linalg_eigh(state.right)).flip(1));
}

void next_basis(Soap& state) {
  if (state.left.defined()) power_iteration(state.left, state.left_basis, state.v, 0);
  if (state.right.defined()) power_iteration(state.right, state.right_basis, state.v, 1);
}

}  // namespace draftlab
