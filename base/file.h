#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace draftlab {

// The steps that make a write last, so that tests can fail each of them (leveldb's Env, much
// smaller).
class Disk {
 public:
  virtual ~Disk() = default;
  // Creates or truncates `file`, writes `bytes` and syncs them to the device. Throws Error.
  virtual void write_and_sync(const std::filesystem::path& file, std::string_view bytes);
  virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to);
  virtual void sync_folder(const std::filesystem::path& folder);
  // Adds `bytes` at the end of `file` in one write where the system allows it, and syncs them. A
  // failure may leave a part of them.
  virtual void append_and_sync(const std::filesystem::path& file, std::string_view bytes);
  // Cuts `file` to its first `size` bytes.
  virtual void cut(const std::filesystem::path& file, int64_t size);

 protected:
  // write_and_sync without the sync.
  static void write(const std::filesystem::path& file, std::string_view bytes, bool sync = false);
};

Disk& real_disk();

// A path as messages show it: what is too long to be one is cut.
std::string shown(const std::filesystem::path& path);

// Replaces `file` as a whole: writes `file`.PID.tmp, syncs, renames, syncs the folder. After a
// crash the file holds either the old or the new bytes. Processes may replace one file at once; the
// last one wins. Throws Error and leaves the old file if a step fails.
void replace_file(const std::filesystem::path& file, std::string_view bytes,
                  Disk& disk = real_disk());

// Removes from a folder what killed processes left of replace_file(). For the folder's only writer.
void remove_temporaries(const std::filesystem::path& folder);

// The whole file as bytes. Throws Error naming it.
std::string read_file(const std::filesystem::path& file);

// Makes the folder and its parents. Throws Error naming it.
void make_folder(const std::filesystem::path& folder);

// A read-only memory map of a whole file; empty files map to an empty view. Movable, unmaps at the
// end.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// An exclusive lock on `file`, held until destruction or the end of the process, however it ends.
// The file holds "pid host" of the owner. Throws Error naming the owner if another process holds
// it.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace draftlab
