#pragma once

#include <cstddef>

namespace draftlab {

// How something is drawn, as one number: look % kHues is its hue, look / kHues its lightness, and
// marker and dashes each repeat after another count, so that no two of the first looks of a hue are
// alike even without colour. The hue of an arm means its kind of optimizer (reports/study/look.h).
inline constexpr size_t kHues = 7;

}  // namespace draftlab
