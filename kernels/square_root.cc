#include "kernels/square_root.h"

#include <ATen/ATen.h>

#include <cmath>

#include "kernels/lanes.h"

namespace draftlab {
namespace {

DRAFTLAB_CLONES void square_roots(float* out, const float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = std::sqrt(x[i]);
}
DRAFTLAB_CLONES void square_roots(double* out, const double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = std::sqrt(x[i]);
}

}  // namespace

void square_root_out(at::Tensor& out, const at::Tensor& x) {
  const bool ours = x.is_cpu() && x.is_contiguous() && out.is_contiguous() &&
                    out.sizes() == x.sizes() && out.scalar_type() == x.scalar_type();
  if (ours && x.scalar_type() == at::kFloat) {
    square_roots(out.data_ptr<float>(), x.const_data_ptr<float>(), x.numel());
  } else if (ours && x.scalar_type() == at::kDouble) {
    square_roots(out.data_ptr<double>(), x.const_data_ptr<double>(), x.numel());
  } else {
    at::sqrt_out(out, x);
  }
}

at::Tensor square_root(const at::Tensor& x) {
  at::Tensor out = at::empty_like(x, at::MemoryFormat::Contiguous);
  square_root_out(out, x.contiguous());
  return out;
}

}  // namespace draftlab
