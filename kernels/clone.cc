#include "kernels/clone.h"

namespace draftlab {
namespace {

// The loader picks among these by the same rule as among clones.
__attribute__((target("default"))) const char* clone() { return "x86-64"; }
__attribute__((target("arch=x86-64-v3"))) const char* clone() { return "x86-64-v3"; }
__attribute__((target("arch=x86-64-v4"))) const char* clone() { return "x86-64-v4"; }

}  // namespace

const char* picked_clone() { return clone(); }

}  // namespace draftlab
