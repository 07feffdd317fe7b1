#pragma once

#include <span>
#include <string>
#include <string_view>

namespace draftlab {

// A library that carries its loops in several versions and takes one by the CPU it finds; the
// environment variable that chooses for it; and the value with which it does the same arithmetic on
// every x86-64.
struct Dispatch {
  std::string_view library, variable, portable_value, why;
};

// All that reach a number of ours. A variable is read once, as its library starts.
std::span<const Dispatch> dispatches();

// Asks every library for its portable version, whatever the caller's environment says. For programs
// that are started afterwards; this one has read its own variables already.
void ask_for_portable_arithmetic();

// What the environment of this program asks of a library: "MKL_CBWR=COMPATIBLE", several joined by
// a blank; "the best for this CPU" where nothing is set.
std::string asked_of(std::string_view library);

}  // namespace draftlab
