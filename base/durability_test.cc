// That a write lasts shows only after a crash, so this listens to what the system is asked to do:
// the functions below stand in for the C library's in this test program.
#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace {

std::vector<std::string> calls;

std::string name_of(int descriptor) {
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor))
      .filename()
      .string();
}

}  // namespace

extern "C" int fsync(int descriptor) {
  calls.push_back("sync " + name_of(descriptor));
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  calls.push_back("rename to " + std::filesystem::path(to).filename().string());
  return static_cast<int>(::syscall(SYS_rename, from, to));
}

namespace draftlab {
namespace {

TEST(Durability, AReplacedFileIsSyncedBeforeItGetsItsNameAndItsFolderAfterwards) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("durability_" + std::to_string(::getpid()));
  make_folder(folder);
  calls.clear();
  replace_file(folder / "x.json", "bytes");
  EXPECT_THAT(calls,
              ::testing::ElementsAre(::testing::MatchesRegex("sync x.json.[0-9]+.tmp"),
                                     "rename to x.json", "sync " + folder.filename().string()));
  calls.clear();
  real_disk().append_and_sync(folder / "x.json", "more");
  EXPECT_THAT(calls, ::testing::ElementsAre("sync x.json"));
  std::filesystem::remove_all(folder);
}

TEST(Durability, ATemporaryNameThatIsALinkIsRefusedAndWhatItPointsToStays) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("durability_" + std::to_string(::getpid()));
  make_folder(folder);
  replace_file(folder / "mine", "mine");
  std::filesystem::create_symlink(folder / "mine",
                                  folder / ("x.json." + std::to_string(::getpid()) + ".tmp"));
  EXPECT_THROW(replace_file(folder / "x.json", "bytes"), Error);
  EXPECT_EQ(read_file(folder / "mine"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder / "x.json"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace draftlab
