#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "base/error.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& action) {
  const int code = errno;
  std::string text = "cannot " + action + ": " + std::strerror(code);
  if (code == ENOSPC || code == EDQUOT) text += "; free some space on this volume and resume";
  throw Error(shown(path), text);
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags)
      : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (fd_ < 0) fail(path, flags & O_CREAT ? "create" : "open");
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  // close reports what a delayed write could not.
  void close() {
    if (::close(std::exchange(fd_, -1)) != 0) fail(path_, "close");
  }

 private:
  fs::path path_;
  int fd_;
};

void write_all(const fs::path& file, int flags, std::string_view bytes, bool sync) {
  Descriptor out(file, flags);
  while (!bytes.empty()) {
    const ssize_t written = ::write(out.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(file, "write");
    bytes.remove_prefix(written);
  }
  if (sync && ::fsync(out.get()) != 0) fail(file, "sync");
  out.close();
}

}  // namespace

void Disk::write_and_sync(const fs::path& file, std::string_view bytes) {
  write(file, bytes, true);
}

void Disk::write(const fs::path& file, std::string_view bytes, bool sync) {
  write_all(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, bytes, sync);
}

void Disk::append_and_sync(const fs::path& file, std::string_view bytes) {
  write_all(file, O_WRONLY | O_CREAT | O_APPEND, bytes, true);
}

void Disk::cut(const fs::path& file, int64_t size) {
  if (::truncate(file.c_str(), size) != 0) fail(file, "cut");
}

void Disk::rename(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(to, "replace");
}

void Disk::sync_folder(const fs::path& folder) {
  Descriptor in(folder, O_RDONLY | O_DIRECTORY);
  if (::fsync(in.get()) != 0) fail(folder, "sync");
}

std::string shown(const fs::path& path) {
  constexpr size_t kLongest = 300;
  const std::string text = path.string();
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

Disk& real_disk() {
  static Disk disk;
  return disk;
}

void replace_file(const fs::path& file, std::string_view bytes, Disk& disk) {
  const fs::path temporary = file.string() + "." + std::to_string(::getpid()) + ".tmp";
  try {
    disk.write_and_sync(temporary, bytes);
    disk.rename(temporary, file);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  disk.sync_folder(file.has_parent_path() ? file.parent_path() : fs::path("."));
}

void remove_temporaries(const fs::path& folder) {
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".tmp") left.push_back(entry.path());
  for (const fs::path& file : left) fs::remove(file);
}

std::string read_file(const fs::path& file) {
  Descriptor in(file, O_RDONLY);
  struct stat info;
  if (::fstat(in.get(), &info) != 0) fail(file, "read");
  if (S_ISDIR(info.st_mode)) throw Error(file.string(), "is a folder, not a file");
  std::string bytes;
  char buffer[1 << 16];
  while (true) {
    const ssize_t size = ::read(in.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail(file, "read");
    if (size == 0) return bytes;
    bytes.append(buffer, size);
  }
}

void make_folder(const fs::path& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) throw Error(folder.string(), "cannot make this folder: " + code.message());
}

MappedFile::MappedFile(const fs::path& file) {
  Descriptor in(file, O_RDONLY);
  struct stat info;
  if (::fstat(in.get(), &info) != 0) fail(file, "read");
  if (!S_ISREG(info.st_mode)) throw Error(file.string(), "is not a regular file");
  size_ = info.st_size;
  if (size_ == 0) return;
  void* map = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, in.get(), 0);
  if (map == MAP_FAILED) fail(file, "map");
  data_ = static_cast<const char*>(map);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

FileLock::FileLock(const fs::path& file)
    : descriptor_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)) {
  if (descriptor_ < 0 && errno == ELOOP)
    throw Error(file.string(), "is a link, and what it points to would be overwritten; remove it");
  if (descriptor_ < 0) fail(file, "open the lock");
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int code = errno;
    ::close(descriptor_);
    if (code == EWOULDBLOCK) {
      throw Error(file.string(), "another draftlab works in this folder (" + read_file(file) +
                                     "); wait for it to end, or stop it, then try again");
    }
    throw Error(file.string(),
                std::string("cannot lock: ") + std::strerror(code) +
                    "; this file system may have no locks (flock), so choose a folder "
                    "on one that has");
  }
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  char since[32] = "";
  const std::time_t now = std::time(nullptr);
  struct tm utc;
  std::strftime(since, sizeof since, "%FT%TZ", ::gmtime_r(&now, &utc));
  const std::string owner = "pid " + std::to_string(::getpid()) + " on " + host + " since " + since;
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, owner.data(), owner.size(), 0) < 0) {
    ::close(descriptor_);
    fail(file, "write the lock");
  }
}

// The file stays: removing it would let two processes lock two files of the same name.
FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace draftlab
