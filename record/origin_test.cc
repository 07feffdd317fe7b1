#include "record/origin.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace draftlab {
namespace {

TEST(Origin, ReadsBackWithWhatIsKnownAndIsNothingWhereThereIsNone) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("draftlab_origin_test_" + std::to_string(::getpid()));
  make_folder(folder);
  EXPECT_FALSE(read_origin(folder / "origin.json"));
  for (const std::optional<bool>& alone :
       {std::optional<bool>(), std::optional(true), std::optional(false)}) {
    write_origin(folder / "origin.json", {"/a/b", alone, 3});
    const auto read = read_origin(folder / "origin.json");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->folder, "/a/b");
    EXPECT_EQ(read->alone, alone);
    EXPECT_EQ(read->workers, 3);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace draftlab
