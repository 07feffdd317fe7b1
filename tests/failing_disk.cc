// A library to be put before the C library (LD_PRELOAD): the calls by which a process changes files
// are counted, and from number DRAFTLAB_FAIL_AT on, DRAFTLAB_FAIL_COUNT of them (default 1) fail
// with the error DRAFTLAB_FAIL_ERRNO (default ENOSPC). What was made to fail leaves the file
// DRAFTLAB_FAIL_MARK. Each process counts its own.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

namespace {

long number(const char* name, long fallback) {
  const char* text = ::getenv(name);
  return text == nullptr ? fallback : ::atol(text);
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// Whether this call is to fail; then errno is set.
bool fails() {
  static const long first = number("DRAFTLAB_FAIL_AT", 0), count = number("DRAFTLAB_FAIL_COUNT", 1),
                    error = number("DRAFTLAB_FAIL_ERRNO", ENOSPC);
  static std::atomic<long> calls = 0;
  const long call = ++calls;
  if (first == 0 || call < first || call >= first + count) return false;
  if (const char* mark = ::getenv("DRAFTLAB_FAIL_MARK")) {
    const int file = next<int (*)(const char*, int, ...)>("open")(mark, O_WRONLY | O_CREAT, 0644);
    if (file >= 0) ::close(file);
  }
  errno = static_cast<int>(error);
  return true;
}

bool is_file(int descriptor) {
  struct stat info;
  return descriptor > 2 && ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

extern "C" {

int fsync(int descriptor) {
  static const auto real = next<int (*)(int)>("fsync");
  return fails() ? -1 : real(descriptor);
}

int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return fails() ? -1 : real(from, to);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  return is_file(descriptor) && fails() ? -1 : real(descriptor, bytes, size);
}

int ftruncate(int descriptor, off_t size) {
  static const auto real = next<int (*)(int, off_t)>("ftruncate");
  return fails() ? -1 : real(descriptor, size);
}

int mkdir(const char* path, mode_t mode) {
  static const auto real = next<int (*)(const char*, mode_t)>("mkdir");
  return fails() ? -1 : real(path, mode);
}

int open(const char* path, int flags, ...) {
  static const auto real = next<int (*)(const char*, int, ...)>("open");
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    __builtin_va_list arguments;
    __builtin_va_start(arguments, flags);
    mode = __builtin_va_arg(arguments, mode_t);
    __builtin_va_end(arguments);
    if (fails()) return -1;
  }
  return real(path, flags, mode);
}

}  // extern "C"
