#include "kernels/gated_delta_rule.h"

#include <ATen/ATen.h>

namespace draftlab {

void gated_delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const at::Tensor& g, const at::Tensor& beta, const BlockLayout& layout,
                      const DeltaHeads& heads, const at::Tensor& out, DeltaRuleMemory&,
                      const at::Tensor* initial) {
  plain_gated_delta_rule(q, k, v, g, beta, layout, heads, out, initial);
}

void gated_delta_rule_backward(const at::Tensor& d_out, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, const at::Tensor& g, const at::Tensor& beta,
                               const at::Tensor&, const DeltaRuleMemory&, const BlockLayout& layout,
                               const DeltaHeads& heads, const at::Tensor& dq, const at::Tensor& dk,
                               const at::Tensor& dv, const at::Tensor& dg, const at::Tensor& dbeta,
                               const at::Tensor* initial) {
  plain_gated_delta_rule_backward(d_out, q, k, v, g, beta, layout, heads, dq, dk, dv, dg, dbeta,
                                  initial);
}

}  // namespace draftlab
