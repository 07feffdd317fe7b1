#include "base/build.h"

namespace draftlab {

std::string build_version() { return DRAFTLAB_VERSION; }
std::string build_commit() { return DRAFTLAB_COMMIT; }
std::string build_type() { return DRAFTLAB_BUILD_TYPE; }
std::string build_compiler() { return DRAFTLAB_COMPILER; }

}  // namespace draftlab
