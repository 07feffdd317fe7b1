#pragma once

#include <vector>

#include "optim/update_rule.h"
#include "record/metrics.h"

namespace draftlab {

// How well a matrix was orthogonalized.
struct OrthogonalizationQuality {
  double alignment;  // tr(O^T X) / ||X||_*: 1 for the polar factor, below 0 for a flipped sign
  double deviation;  // largest |sigma - 1| of O over as many singular values as X has above 0
};
// By the eigenvalues of the Gram matrices, of X in float64, of O, which is as good as it is, in its
// own dtype. NaN, both, where X is zero or undefined.
OrthogonalizationQuality quality(const OrthogonalizationSample& sample);

// The rows of one step, without its number: a tensor's update is `after` minus `before`, tensors of
// one kind and rule together, `samples` of the first tensor of each. The three lists run along
// `rules`.
std::vector<UpdateRow> update_rows(const std::vector<const UpdateRule*>& rules,
                                   const std::vector<at::Tensor>& before,
                                   const std::vector<at::Tensor>& after,
                                   const std::vector<OrthogonalizationSample>& samples);

}  // namespace draftlab
