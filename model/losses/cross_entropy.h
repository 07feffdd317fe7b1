#pragma once

#include "model/losses/loss_rule.h"

namespace draftlab::losses {

// -log q(label), 0 without a label; as in LossRule.
double cross_entropy(const DistributionRow<float>& row, float weight, float* d_logits);
double cross_entropy(const DistributionRow<double>& row, double weight, double* d_logits);
PlainLosses plain_cross_entropy(const at::Tensor& log_p, const at::Tensor& log_q,
                                const at::Tensor& labels);

}  // namespace draftlab::losses
