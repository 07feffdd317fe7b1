#pragma once

#include <vector>

#include "kernels/named_tensors.h"
#include "record/optimizer_config.h"
#include "record/routing.h"
#include "record/transfer.h"

namespace draftlab {

// The state of another optimizer, and what became of each buffer of the old one.
struct Transfer {
  NamedTensors state;             // for Optimizer::load_state() of the new one; own tensors
  std::vector<TransferRow> rows;  // tensor after tensor, as in the new table
};

// Takes over from the state of one optimizer what means the same to another one.
// - A tensor whose rule stays keeps everything, as far as its shapes stay.
// - The mean gradient is carried: AdamW, Lion, SOAP and Shampoo keep it as "exp_avg", Muon as
//   "momentum", or as "momentum_sum", which is 1 / (1 - momentum) times as large. What was an
//   average of t steps stays one: where the new rule corrects the bias 1 - beta^t of a young
//   average, it is scaled to its beta.
// - The mean squared gradient goes with it where the new rule divides by its root: from a rule that
//   divides by it too, or from Muon's shadow ("shadow_beta2"), if the shadow has seen what the
//   momentum remembers. Else both are reset: a kept mean gradient over a mean square that starts
//   from zero would make a first update of |m| / |g|, which has no bound where an entry of one
//   gradient is small.
// - The norm that Hyperball keeps is carried as long as the row blocks stay; else the next step
// takes
//   the norm that the weight has at the switch.
// - Everything else (row statistics, preconditioners) is dropped, and reset in the new state.
// Throws Error for a state that is not of `from` and its table.
Transfer transfer_state(const NamedTensors& state, const OptimizerConfig& from,
                        const std::vector<Route>& from_table, const OptimizerConfig& to,
                        const std::vector<Route>& to_table);

// Zeros for the new optimizer, everything old dropped.
Transfer reset_state(const NamedTensors& state, const OptimizerConfig& to,
                     const std::vector<Route>& to_table);

}  // namespace draftlab
