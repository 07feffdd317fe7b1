#include "optim/normuon.h"

#include <ATen/ATen.h>

namespace draftlab {

void even_out(at::Tensor& o, at::Tensor& v, const NorMuon& form) {
  const bool dion = form.convention == "dion", modded = form.convention == "modded_nanogpt";
  const int64_t along = v.size(-1) == 1 ? -1 : -2;  // the sum runs over a row, or over a column
  const at::Tensor squares = at::linalg_vector_norm(o, 2, along, /*keepdim=*/true).square_();
  v.mul_(form.beta2).add_(squares, (1 - form.beta2) / static_cast<double>(o.size(along)));
  const at::Tensor factor =
      modded ? v.clamp_min(1e-10).rsqrt_() : v.sqrt().add_(dion ? 1e-8 : 1e-10).reciprocal_();
  const at::Tensor norm = (squares * factor * factor).sum({-2, -1}, /*keepdim=*/true).sqrt_();
  const at::Tensor divisor = dion || modded ? norm.clamp_min(dion ? 1e-8 : 1e-10) : norm + 1e-10;
  const at::Tensor wanted =
      form.unit_norm ? at::ones_like(norm) : squares.sum({-2, -1}, /*keepdim=*/true).sqrt_();
  o.mul_(factor * (wanted / divisor));
}

}  // namespace draftlab
