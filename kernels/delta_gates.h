#pragma once

#include <ATen/core/Tensor.h>

namespace draftlab {

// The two gates of a Gated DeltaNet layer for every row and value head h:
//   g = -e^A_log[h] * softplus(a + dt_bias[h]),  softplus(x) = log(1 + e^x): the log of the decay
//   beta = 1 / (1 + e^-b): the step size
// a, b, g, beta [R, nv], contiguous; A_log, dt_bias [nv]; one floating dtype. Outputs have their
// shapes already. `beta` may be `b`. Deterministic, whatever the number of threads.
void delta_gates(const at::Tensor& a, const at::Tensor& b, const at::Tensor& A_log,
                 const at::Tensor& dt_bias, const at::Tensor& g, const at::Tensor& beta);

// From the gradients dg and dbeta, and what the forward pass saw and returned:
//   da = -dg * e^A_log / (1 + e^-(a + dt_bias)),  d_dt_bias = sum over rows of da,
//   d_A_log = sum over rows of dg * g,  db = dbeta * beta * (1 - beta).
// All are written. `da` may be `dg` and `db` may be `dbeta`.
void delta_gates_backward(const at::Tensor& dg, const at::Tensor& dbeta, const at::Tensor& a,
                          const at::Tensor& A_log, const at::Tensor& dt_bias, const at::Tensor& g,
                          const at::Tensor& beta, const at::Tensor& da, const at::Tensor& db,
                          const at::Tensor& d_A_log, const at::Tensor& d_dt_bias);

// The same by ATen alone: the specification, and what devices without a kernel run.
void plain_delta_gates(const at::Tensor& a, const at::Tensor& b, const at::Tensor& A_log,
                       const at::Tensor& dt_bias, const at::Tensor& g, const at::Tensor& beta);
void plain_delta_gates_backward(const at::Tensor& dg, const at::Tensor& dbeta, const at::Tensor& a,
                                const at::Tensor& A_log, const at::Tensor& dt_bias,
                                const at::Tensor& g, const at::Tensor& beta, const at::Tensor& da,
                                const at::Tensor& db, const at::Tensor& d_A_log,
                                const at::Tensor& d_dt_bias);

}  // namespace draftlab
