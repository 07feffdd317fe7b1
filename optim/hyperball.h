#pragma once

#include <memory>

#include "optim/update_rule.h"

namespace draftlab {

// The rule that moves a matrix by the update u of another rule and keeps it on the sphere of its
// first norm (record/hyperball.h). The other rule runs as it is: at rate 1 and without decay on a
// matrix of zeros, which it turns into -u. Throws Error naming the tensor where a block of `weight`
// has norm 0, and so no radius.
std::unique_ptr<UpdateRule> make_hyperball_rule(UpdateRuleMaker* base,
                                                const OptimizerConfig& options, const Route& route,
                                                const at::Tensor& weight);

}  // namespace draftlab
