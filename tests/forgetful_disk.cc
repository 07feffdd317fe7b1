// A library to be put before the C library (LD_PRELOAD): what is synced is copied into the folder
// DRAFTLAB_DURABLE, so that scripts/faults can make a disk of it that lost its power: a file's bytes
// as KEY, a folder's names as KEY.folder, a line "KEY NAME" each. A key is an inode with the moment
// of its birth, as `stat -c %i-%.9W` prints them, since inodes are used again.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace {

std::string key_of(int descriptor) {
  struct statx info;
  if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &info) != 0) return "";
  char text[64];
  ::snprintf(text, sizeof text, "%llu-%lld.%09u", static_cast<unsigned long long>(info.stx_ino),
             static_cast<long long>(info.stx_btime.tv_sec), info.stx_btime.tv_nsec);
  return text;
}

// Whole or not at all: the power may go here too.
void put(const std::string& name, const std::string& bytes) {
  const std::string folder = ::getenv("DRAFTLAB_DURABLE");
  const std::string temporary = folder + "/" + std::to_string(::getpid()) + ".tmp";
  FILE* out = ::fopen(temporary.c_str(), "wb");
  if (out == nullptr) ::abort();
  if (::fwrite(bytes.data(), 1, bytes.size(), out) != bytes.size()) ::abort();
  if (::fclose(out) != 0) ::abort();
  if (::rename(temporary.c_str(), (folder + "/" + name).c_str()) != 0) ::abort();
}

std::string bytes_of(int descriptor) {
  // Opened anew, since the descriptor may be for writing alone.
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  const int in = ::open(path.c_str(), O_RDONLY);
  std::string bytes;
  char piece[1 << 16];
  for (ssize_t n; in >= 0 && (n = ::read(in, piece, sizeof piece)) > 0;) bytes.append(piece, n);
  if (in >= 0) ::close(in);
  return bytes;
}

std::string names_of(int descriptor) {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  std::string lines;
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return lines;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const int file = ::openat(::dirfd(folder), entry->d_name, O_PATH | O_NOFOLLOW);
    if (file < 0) continue;  // gone meanwhile
    lines += key_of(file) + " " + name + "\n";
    ::close(file);
  }
  ::closedir(folder);
  return lines;
}

}  // namespace

extern "C" int fsync(int descriptor) {
  static const auto real = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fsync"));
  const int status = real(descriptor);
  struct stat info;
  if (status != 0 || ::getenv("DRAFTLAB_DURABLE") == nullptr || ::fstat(descriptor, &info) != 0)
    return status;
  if (S_ISREG(info.st_mode)) put(key_of(descriptor), bytes_of(descriptor));
  if (S_ISDIR(info.st_mode)) put(key_of(descriptor) + ".folder", names_of(descriptor));
  return status;
}
