#pragma once

namespace draftlab {

// The clone of our kernels (kernels/lanes.h) that the loader picks on this CPU: "x86-64",
// "x86-64-v3" or "x86-64-v4". All give the same bits (tests/processors_test.cc).
const char* picked_clone();

}  // namespace draftlab
