#include "train/peak_memory.h"

#include <sys/resource.h>

namespace draftlab {

int64_t peak_memory_bytes() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

}  // namespace draftlab
