#include "base/file.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "base/hash.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("draftlab_file_test_" + std::to_string(::getpid()));
    make_folder(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

// Fails the n-th step (counted from 0) and every later one, as a dying disk does.
class FailingDisk : public Disk {
 public:
  explicit FailingDisk(int good_steps) : good_steps_(good_steps) {}
  void write_and_sync(const fs::path& file, std::string_view bytes) override {
    if (good_steps_-- <= 0) {
      std::ofstream(file) << bytes.substr(0, bytes.size() / 2);  // a torn write
      throw Error(file.string(), "injected");
    }
    Disk::write_and_sync(file, bytes);
  }
  void rename(const fs::path& from, const fs::path& to) override {
    if (good_steps_-- <= 0) throw Error(to.string(), "injected");
    Disk::rename(from, to);
  }
  void sync_folder(const fs::path& folder) override {
    if (good_steps_-- <= 0) throw Error(folder.string(), "injected");
    Disk::sync_folder(folder);
  }

 private:
  int good_steps_;
};

TEST_F(File, ReplacedFileHoldsOldOrNewBytesWhicheverStepFails) {
  const fs::path file = folder_ / "x.json";
  for (int good_steps = 0; good_steps < 3; ++good_steps) {
    replace_file(file, "old bytes");
    FailingDisk disk(good_steps);
    EXPECT_THROW(replace_file(file, "new bytes", disk), Error);
    EXPECT_THAT(read_file(file), ::testing::AnyOf("old bytes", "new bytes")) << good_steps;
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1)
        << good_steps << ": a temporary file is left";
  }
  FailingDisk disk(3);
  replace_file(file, "new bytes", disk);
  EXPECT_EQ(read_file(file), "new bytes");
}

TEST_F(File, AFullDiskIsReportedByName) {
  if (!fs::exists("/dev/full")) GTEST_SKIP();
  try {
    real_disk().write_and_sync("/dev/full", "x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("/dev/full: cannot write"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("free some space"));
  }
}

TEST_F(File, ErrorsNameTheFile) {
  EXPECT_THAT([&] { read_file(folder_ / "none"); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("none: cannot open")));
  EXPECT_THAT([&] { read_file(folder_); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("is a folder")));
}

TEST_F(File, AFileIsReadWholeWhateverItsSize) {
  for (const size_t size : {0, 1, 1 << 16, (1 << 16) + 1, 3 << 16}) {
    std::string bytes(size, 'a');
    if (size > 0) bytes.back() = 'b';
    replace_file(folder_ / "x", bytes);
    EXPECT_EQ(read_file(folder_ / "x"), bytes) << size;
  }
}

TEST_F(File, AMapShowsTheBytes) {
  replace_file(folder_ / "x", "abc");
  replace_file(folder_ / "empty", "");
  MappedFile map(folder_ / "x");
  EXPECT_EQ(map.bytes(), "abc");
  EXPECT_EQ(MappedFile(folder_ / "empty").bytes(), "");
}

TEST_F(File, ALockIsHeldOnceAndFreedWhenItsHolderDies) {
  const fs::path file = folder_ / "lock";
  const pid_t child = ::fork();
  if (child == 0) {
    FileLock lock(file);
    ::write(1, "", 0);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  EXPECT_THAT(
      [&] { FileLock lock(file); },
      ::testing::ThrowsMessage<Error>(::testing::HasSubstr("pid " + std::to_string(child))));
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  FileLock lock(file);
}

// Values of FIPS 180-2: the empty text, "abc", and a million times "a".
TEST(Hash, MatchesThePublishedValuesHoweverTheBytesAreAdded) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 parts;
  parts.add("a");
  parts.add("bc");
  EXPECT_EQ(parts.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_base64("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

TEST_F(File, TheHashOfAFileIsThatOfAllItsBytes) {
  std::string bytes(3 << 20, 'a');
  for (const size_t size : {size_t{0}, size_t{1000000}, size_t{1} << 20, bytes.size()}) {
    replace_file(folder_ / "x", std::string_view(bytes).substr(0, size));
    EXPECT_EQ(sha256_hex_of_file(folder_ / "x"),
              sha256_hex(std::string_view(bytes).substr(0, size)))
        << size;
  }
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace draftlab
