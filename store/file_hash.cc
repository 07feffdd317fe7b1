#include "store/file_hash.h"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <compare>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/hash.h"

namespace draftlab {
namespace {

struct FileState {
  dev_t device;
  ino_t inode;
  off_t size;
  int64_t modified, changed;  // nanoseconds since 1970

  auto operator<=>(const FileState&) const = default;
};

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

FileState state_of(const std::filesystem::path& file) {
  struct stat info;
  if (::stat(file.c_str(), &info) != 0)
    throw Error(file.string(), std::string("cannot be read: ") + std::strerror(errno));
  return {info.st_dev, info.st_ino, info.st_size, nanoseconds(info.st_mtim),
          nanoseconds(info.st_ctim)};
}

}  // namespace

std::string sha256_once(const std::filesystem::path& file) {
  static std::map<FileState, std::string> known;
  const FileState state = state_of(file);
  if (const auto found = known.find(state); found != known.end()) return found->second;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string hash = sha256_hex_of_file(file);
  const int64_t age = std::chrono::nanoseconds(now).count() - state.changed;
  if (age > 1'000'000'000 && state_of(file) == state) known.emplace(state, hash);
  return hash;
}

}  // namespace draftlab
