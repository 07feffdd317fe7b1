#pragma once

#include <cstdint>

namespace draftlab {

// Largest resident set of this process so far, in bytes.
int64_t peak_memory_bytes();

}  // namespace draftlab
