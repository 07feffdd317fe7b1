#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace draftlab {

// The plain values of nested JSON with their dotted keys, in order: {"adamw":{"beta1":0.9}} gives
// ("adamw.beta1", 0.9). Lists stay whole.
std::vector<std::pair<std::string, Json>> flatten(const Json& value);

// As people read it: strings without quotes, the rest as canonical JSON.
std::string option_text(const Json& value);

}  // namespace draftlab
