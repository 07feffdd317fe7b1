#pragma once

#include "record/optimizers/options.h"

namespace draftlab::optimizers {

// SOAP and Shampoo keep for each side of a block a mean of G G^T (or G^T G), and its eigenvectors
// or its root. `made` names the latter: "basis" gives left, left_basis, right, right_basis, each
// with the number of the block behind it where there are several ("left.0"); and the counter
// preconditioner_steps. A side above the option "largest_side" has none.
std::vector<Buffer> two_sided_buffers(const OptimizerConfig& options, const Route& route,
                                      const std::string& made, const std::string& text);

// `passes`: how often a matrix of the block's shape is multiplied by what was made, in a step;
// `renewal`: operations over side^3 of making it anew.
UpdateWork two_sided_work(const OptimizerConfig& options, const Route& route, int64_t passes,
                          double renewal);

}  // namespace draftlab::optimizers
