#pragma once

#include <string_view>

#include "record/metrics.h"

namespace draftlab {

// Adds the row of one line of metrics.jsonl (without its end) if it is exactly as MetricsLog writes
// it: keys sorted, no spaces. False, with `metrics` as it was, for any other line, which may be a
// good one all the same: the strict parser decides, and says what is wrong with it. This reader
// accepts nothing that the parser refuses, gives the same numbers, and makes reports of large
// sweeps quick.
bool add_written_line(std::string_view line, Metrics& metrics);

}  // namespace draftlab
