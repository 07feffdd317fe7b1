#include "optim/muon.h"

#include <ATen/ATen.h>

namespace draftlab {

at::Tensor muon_direction(const at::Tensor& gradient, at::Tensor& momentum,
                          const MuonOptions& options, Workspace& workspace) {
  momentum.lerp_(gradient, 1 - options.momentum);
  if (!options.nesterov) return orthogonalize(momentum, options.orthogonalization, workspace);
  at::Tensor ahead =
      workspace.matrix(Workspace::kFree, gradient.size(0), gradient.size(1), gradient);
  at::lerp_out(ahead, gradient, momentum, options.momentum);
  return orthogonalize(ahead, options.orthogonalization, workspace);
}

at::Tensor normuon_direction(const at::Tensor& gradient, at::Tensor& momentum,
                             at::Tensor& row_mean_square, double beta2, const MuonOptions& options,
                             Workspace& workspace) {
  constexpr double kEpsilon = 1e-10;
  at::Tensor o = muon_direction(gradient, momentum, options, workspace);
  const at::Tensor row_norms = at::linalg_vector_norm(o, 2, 1, /*keepdim=*/true);  // [m, 1]
  const at::Tensor norm = at::linalg_vector_norm(row_norms);
  row_mean_square.mul_(beta2).addcmul_(row_norms, row_norms,
                                       (1 - beta2) / static_cast<double>(o.size(1)));
  o.div_(row_mean_square.sqrt().add_(kEpsilon));
  return o.mul_(norm / at::linalg_vector_norm(o).add_(kEpsilon));
}

void muon_update(at::Tensor& weight, const at::Tensor& direction, double rate, double decay) {
  if (decay != 1) weight.mul_(decay);
  weight.sub_(direction, rate);
}

}  // namespace draftlab
