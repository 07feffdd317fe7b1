#include "kernels/swiglu.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "kernels/lanes.h"
#include "kernels/placement.h"

namespace draftlab {
namespace {

template <typename T>
DRAFTLAB_INLINE void forward_of(const T* gate, const T* up, int64_t n, T* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = gate[i] * sigmoid(gate[i]) * up[i];
}

template <typename T>
DRAFTLAB_INLINE void backward_of(const T* d_out, const T* gate, const T* up, int64_t n, T* d_gate,
                                 T* d_up) {
  for (int64_t i = 0; i < n; ++i) {
    const T g = gate[i], u = up[i], d = d_out[i], s = sigmoid(g);
    d_up[i] = d * g * s;
    d_gate[i] = d * u * s * (1 + g * (1 - s));
  }
}

DRAFTLAB_CLONES void forward(const float* gate, const float* up, int64_t n, float* out) {
  forward_of(gate, up, n, out);
}
DRAFTLAB_CLONES void forward(const double* gate, const double* up, int64_t n, double* out) {
  forward_of(gate, up, n, out);
}
DRAFTLAB_CLONES void backward(const float* d_out, const float* gate, const float* up, int64_t n,
                              float* d_gate, float* d_up) {
  backward_of(d_out, gate, up, n, d_gate, d_up);
}
DRAFTLAB_CLONES void backward(const double* d_out, const double* gate, const double* up, int64_t n,
                              double* d_gate, double* d_up) {
  backward_of(d_out, gate, up, n, d_gate, d_up);
}

constexpr int64_t kGrain = 16384;

}  // namespace

void plain_swiglu(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& out) {
  out.copy_(gate * gate.sigmoid() * up);
}

void plain_swiglu_backward(const at::Tensor& d_out, const at::Tensor& gate, const at::Tensor& up,
                           const at::Tensor& d_gate, const at::Tensor& d_up) {
  const at::Tensor s = gate.sigmoid();
  const at::Tensor to_up = d_out * gate * s;
  const at::Tensor to_gate = d_out * up * s * (1 + gate * (1 - s));
  d_up.copy_(to_up);
  d_gate.copy_(to_gate);
}

void swiglu(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& out) {
  if (!plain_memory({gate, up, out})) return plain_swiglu(gate, up, out);
  TORCH_CHECK(up.sizes() == gate.sizes() && out.sizes() == gate.sizes(),
              "swiglu: shapes do not fit");
  AT_DISPATCH_FLOATING_TYPES(gate.scalar_type(), "swiglu", [&] {
    const scalar_t* g = gate.const_data_ptr<scalar_t>();
    const scalar_t* u = up.const_data_ptr<scalar_t>();
    scalar_t* o = out.data_ptr<scalar_t>();
    at::parallel_for(0, gate.numel(), kGrain, [&](int64_t begin, int64_t end) {
      forward(g + begin, u + begin, end - begin, o + begin);
    });
  });
}

void swiglu_backward(const at::Tensor& d_out, const at::Tensor& gate, const at::Tensor& up,
                     const at::Tensor& d_gate, const at::Tensor& d_up) {
  if (!plain_memory({d_out, gate, up, d_gate, d_up})) {
    return plain_swiglu_backward(d_out, gate, up, d_gate, d_up);
  }
  TORCH_CHECK(up.sizes() == gate.sizes() && d_out.sizes() == gate.sizes() &&
                  d_gate.sizes() == gate.sizes() && d_up.sizes() == gate.sizes(),
              "swiglu_backward: shapes do not fit");
  AT_DISPATCH_FLOATING_TYPES(gate.scalar_type(), "swiglu_backward", [&] {
    const scalar_t* d = d_out.const_data_ptr<scalar_t>();
    const scalar_t* g = gate.const_data_ptr<scalar_t>();
    const scalar_t* u = up.const_data_ptr<scalar_t>();
    scalar_t* dg = d_gate.data_ptr<scalar_t>();
    scalar_t* du = d_up.data_ptr<scalar_t>();
    at::parallel_for(0, gate.numel(), kGrain, [&](int64_t begin, int64_t end) {
      backward(d + begin, g + begin, u + begin, end - begin, dg + begin, du + begin);
    });
  });
}

}  // namespace draftlab
