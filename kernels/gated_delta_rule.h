#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kernels/block_layout.h"

namespace draftlab {

struct DeltaHeads {
  int64_t key = 0;      // nk
  int64_t value = 0;    // nv, a multiple of nk; each key head serves nv/nk consecutive value heads
  int64_t key_dim = 0;  // dk
  int64_t value_dim = 0;  // dv
};

// What the backward pass needs of the forward pass; one for each layer. Made and resized by the
// forward pass: pass the same again to save the allocations.
struct DeltaRuleMemory {
  at::Tensor states;  // [chunks, nv, dk, dv] the state before each chunk of a sequence
  at::Tensor errors;  // [T + N*B, nv*dv] v_t - S^T k_t of the rows that some block depends on
};

// The gated delta rule (Yang, Kautz and Hatamizadeh 2024) in a DFlash drafter. A value head's state
// S [dk, dv] meets a row of keys, values, log decay and step size:
//   S <- e^g_t S;  e_t = v_t - S^T k_t;  S <- S + beta_t k_t e_t^T;  o_t = S^T q_t.
// It runs over the context rows of each sequence, from 0 or from `initial` [R, nv, dk, dv]. Each
// block goes on from the state after the rows j < anchor of its sequence, over its own slots in
// order: the layer is causal inside a block. Context rows have no outputs, so no queries. To read
// the state itself, use blocks of one slot with beta = 0 and g = 0.
//
// q [N*B, nk*dk] and k [T + N*B, nk*dk], which the caller has normalised and scaled; v [T + N*B,
// nv*dv]; g (at most 0, finite) and beta [T + N*B, nv]; out [N*B, nv*dv]. One floating dtype. Rows
// of q, k, v and out may lie apart (columns of a wider matrix). Outputs have their shapes already.
//
// Chunks of rows become matrix products (Yang et al. 2024, "Parallelizing linear transformers with
// the delta rule"); blocks read the state at the border of the chunk before their anchor and the
// errors of the chunk's rows, so no state is made for an anchor. Cost and memory are linear in T
// and in N, and quadratic in B. Deterministic, whatever the number of threads, but for the products
// where one task is left; rows that a block must not see change no bit as long as they are finite.
void gated_delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const at::Tensor& g, const at::Tensor& beta, const BlockLayout& layout,
                      const DeltaHeads& heads, const at::Tensor& out, DeltaRuleMemory& memory,
                      const at::Tensor* initial = nullptr);

// Gradients of q, k, v, g and beta (written, not added to; 0 for rows that no block depends on)
// from d_out and what the forward pass saw and returned. Rows may lie apart.
void gated_delta_rule_backward(const at::Tensor& d_out, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, const at::Tensor& g, const at::Tensor& beta,
                               const at::Tensor& out, const DeltaRuleMemory& memory,
                               const BlockLayout& layout, const DeltaHeads& heads,
                               const at::Tensor& dq, const at::Tensor& dk, const at::Tensor& dv,
                               const at::Tensor& dg, const at::Tensor& dbeta,
                               const at::Tensor* initial = nullptr);

// The same by ATen alone, row by row: the specification, and what devices without a kernel run.
// Autograd can follow the forward pass.
void plain_gated_delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& g, const at::Tensor& beta, const BlockLayout& layout,
                            const DeltaHeads& heads, const at::Tensor& out,
                            const at::Tensor* initial = nullptr);
void plain_gated_delta_rule_backward(const at::Tensor& d_out, const at::Tensor& q,
                                     const at::Tensor& k, const at::Tensor& v, const at::Tensor& g,
                                     const at::Tensor& beta, const BlockLayout& layout,
                                     const DeltaHeads& heads, const at::Tensor& dq,
                                     const at::Tensor& dk, const at::Tensor& dv,
                                     const at::Tensor& dg, const at::Tensor& dbeta,
                                     const at::Tensor* initial = nullptr);

}  // namespace draftlab
