#include "record/lives.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Life life(const std::string& host, int64_t first_step) {
  return {host, first_step, {"AVX2", "cpu", "Synthetic 9000", 2, 1}, {{"commit", "abc"}}};
}

class Lives : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("draftlab_lives_test_" + std::to_string(::getpid()));
    make_folder(folder_);
    file_ = folder_ / "provenance.json";
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_, file_;
};

TEST_F(Lives, AreKeptInTheOrderInWhichTheyWereLived) {
  EXPECT_THAT(read_lives(file_), IsEmpty());
  const Life first = life("a", 0);
  Life second = life("b", 24);
  second.machine.cpu = "Synthetic 9001";
  second.build = {{"commit", "def"}, {"libtorch", "2.11.0"}};
  add_life(file_, first);
  add_life(file_, second);
  EXPECT_THAT(read_lives(file_), ElementsAre(first, second));
}

TEST_F(Lives, OfAnOlderVersionAreOneWithWhateverElseItHeldAsTheBuild) {
  replace_file(file_, R"({"draftlab_version": "0.1.0", "commit": "abc", "cuda": "none",
      "vector_instructions": "AVX512", "device": "cpu", "cpu": "X", "cores": 2, "threads": 1})");
  const Life old{"",
                 0,
                 {"AVX512", "cpu", "X", 2, 1},
                 {{"draftlab_version", "0.1.0"}, {"commit", "abc"}, {"cuda", "none"}}};
  EXPECT_THAT(read_lives(file_), ElementsAre(old));
  add_life(file_, life("b", 24));
  EXPECT_THAT(read_lives(file_), ElementsAre(old, life("b", 24)));
}

TEST_F(Lives, BrokenOnesAreRefusedWithTheFileAndNotReplaced) {
  for (const char* text :
       {"{", "[]", R"({"lives": []})", R"({"schema": 3, "lives": []})",
        R"({"schema": 2, "lives": [{"host": "a"}]})", R"({"schema": 2, "lives": [], "more": 1})"}) {
    replace_file(file_, text);
    try {
      add_life(file_, life("b", 24));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(file_.string())) << text;
    }
    EXPECT_EQ(read_file(file_), text);
  }
}

TEST_F(Lives, AreOfThisBuildIfEveryFactOfItIsTheSame) {
  Life one = life("a", 0);
  one.build = this_build();
  one.build["libtorch"] = "2.11.0";  // which the planning program does not know
  EXPECT_TRUE(is_of_this_build(one));
  for (const auto& fact : this_build()) {
    Life other = one;
    other.build[fact.key()] = "another";
    EXPECT_FALSE(is_of_this_build(other)) << fact.key();
    other.build.erase(fact.key());
    EXPECT_FALSE(is_of_this_build(other)) << fact.key();
  }
}

TEST_F(Lives, ThatWereLivedAgainFromTheirFirstStepOnDoNotContribute) {
  const Life a = life("a", 0), b = life("b", 0), c = life("c", 24), d = life("d", 48),
             e = life("e", 24);
  EXPECT_THAT(contributing({a, b}), ElementsAre(b));
  EXPECT_THAT(contributing({a, c, d}), ElementsAre(a, c, d));
  EXPECT_THAT(contributing({a, c, d, e}), ElementsAre(a, e));
  EXPECT_THAT(contributing({}), IsEmpty());
}

}  // namespace
}  // namespace draftlab
