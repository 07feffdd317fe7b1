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

// The singular values of a matrix: the least, the quartiles and the largest [5], and the stable
// rank (UpdateRow). Computed in float64 on the CPU; deterministic.
struct Spectrum {
  std::vector<double> quantiles;
  double stable_rank;
};
Spectrum spectrum(const at::Tensor& x);

// Gives rows of matrices their spectra, those of the first matrix of their kind and rule. `weights`
// and `momenta` run along `rules`; a momentum that is not defined has none.
void add_spectra(const std::vector<const UpdateRule*>& rules,
                 const std::vector<at::Tensor>& weights, const std::vector<at::Tensor>& momenta,
                 std::vector<UpdateRow>& rows);

// The rows of one step, without its number: a tensor's update is `after` minus `before`, tensors of
// one kind and rule together, `samples` of the first tensor of each. The three lists run along
// `rules`.
std::vector<UpdateRow> update_rows(const std::vector<const UpdateRule*>& rules,
                                   const std::vector<at::Tensor>& before,
                                   const std::vector<at::Tensor>& after,
                                   const std::vector<OrthogonalizationSample>& samples);

}  // namespace draftlab
