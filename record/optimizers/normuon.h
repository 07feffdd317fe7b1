#pragma once

#include <cstdint>

#include "record/optimizer_config.h"

namespace draftlab {

// Whether NorMuon evens out the columns of a rows x cols matrix instead of its rows: modded-nanogpt
// does where there are more of them. Its mean squares are one a row, or one a column.
bool evens_out_columns(const OptimizerConfig& options, int64_t rows, int64_t cols);

}  // namespace draftlab
