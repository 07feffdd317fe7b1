#pragma once

#include <string>

namespace draftlab {

// Throws Error unless this build and machine can train on `device`: "cpu" or "cuda".
void require_device(const std::string& device);

}  // namespace draftlab
