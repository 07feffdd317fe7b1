#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace draftlab {

// The looks (reports/text/look.h) of arms with these kinds of optimizer: the same hue for the same
// kind on every page, and one look each. Kinds that no hue is left for share the last.
std::vector<size_t> looks(const std::vector<std::string>& kinds);

}  // namespace draftlab
