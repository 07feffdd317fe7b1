#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace draftlab {

// The known name that a mistyped one probably meant: the one with the fewest edits (insert, delete,
// replace a byte; a missing end counts as one), the first of equals. "" if none is near: more than
// 1 edit and a third of the length.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace draftlab
