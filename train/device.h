#pragma once

#include <string>

namespace draftlab {

// Whether this build and machine can train on `device`: "cpu" or "cuda".
bool has_device(const std::string& device);

// Throws Error unless it has.
void require_device(const std::string& device);

}  // namespace draftlab
