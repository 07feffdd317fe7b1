#pragma once

#include <string>
#include <vector>

namespace draftlab {

inline constexpr double kTextSize = 12;  // pixels, of most text in charts

// Estimated width of `text` in pixels, as wide as the widest of the fonts that a page asks for.
double text_width(const std::string& text, double size = kTextSize);

// The names as labels of at most `width` pixels. Where one is longer, what all of them begin or end
// with is left out of it first, then its middle, so that names that differ stay told apart where
// there is room for it at all.
std::vector<std::string> fitted(const std::vector<std::string>& names, double width,
                                double size = kTextSize);

}  // namespace draftlab
