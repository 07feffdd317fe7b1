#include "store/file_state.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace draftlab {
namespace {

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

FileState file_state(const std::filesystem::path& file) {
  struct stat info;
  if (::stat(file.c_str(), &info) != 0)
    throw Error(file.string(), std::string("cannot be read: ") + std::strerror(errno));
  return {info.st_dev, info.st_ino, info.st_size, nanoseconds(info.st_mtim),
          nanoseconds(info.st_ctim)};
}

}  // namespace draftlab
