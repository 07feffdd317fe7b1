#pragma once

#include <ATen/core/Tensor.h>

namespace draftlab {

// The gated unit of Llama-like models (Shazeer 2020): out = silu(gate) * up, silu(g) = g / (1 +
// e^-g). All tensors have one shape and one floating dtype. Any output may be any input.
// Deterministic.
void swiglu(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& out);

// With s = 1 / (1 + e^-gate):
//   d_up = d_out * gate * s,  d_gate = d_out * up * s * (1 + gate * (1 - s)).
void swiglu_backward(const at::Tensor& d_out, const at::Tensor& gate, const at::Tensor& up,
                     const at::Tensor& d_gate, const at::Tensor& d_up);

// The same by ATen alone: the specification, and what devices without a kernel run.
void plain_swiglu(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& out);
void plain_swiglu_backward(const at::Tensor& d_out, const at::Tensor& gate, const at::Tensor& up,
                           const at::Tensor& d_gate, const at::Tensor& d_up);

}  // namespace draftlab
