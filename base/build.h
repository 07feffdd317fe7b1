#pragma once

#include <string>

namespace draftlab {

// How this program was built; part of every result's provenance.
std::string build_version();  // "0.1.0"
std::string
build_commit();  // short git hash, "+" appended where files were changed; "unknown" without git
std::string build_type();      // "Release"
std::string build_compiler();  // "GNU 12.2.0"

}  // namespace draftlab
