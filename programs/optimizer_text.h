#pragma once

#include <string>
#include <vector>

#include "record/optimizer_kind.h"
#include "record/orthogonalizer.h"

namespace draftlab {

// What `draftlab optimizers` prints. Costs are those of update_cost.h for a 1024 x 4096 matrix.

// A line for every optimizer and convention: state, matrix products, operations, source.
std::string optimizer_list();
// The table of docs/optimizers.md: conventions, tensors and buffers of every optimizer.
std::string optimizer_markdown();
// Formula, buffers, options with defaults and ranges, and what each convention changes.
std::string explained(const OptimizerKind& kind);

std::string orthogonalizer_list();
std::string explained(const OrthogonalizerKind& kind);

// "a, b, c"
std::string comma_list(const std::vector<std::string>& words);

}  // namespace draftlab
