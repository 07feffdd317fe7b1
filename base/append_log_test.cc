#include "base/append_log.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Log : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("draftlab_append_log_" + std::to_string(::getpid()));
    make_folder(folder_);
    file_ = folder_ / "log";
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_, file_;
};

// Writes `good` bytes and then fails, as a full disk does; `cuts`: whether it still cuts.
class FullDisk : public Disk {
 public:
  FullDisk(size_t good, bool cuts) : good_(good), cuts_(cuts) {}
  void append_and_sync(const fs::path& file, std::string_view bytes) override {
    Disk::append_and_sync(file, bytes.substr(0, good_));
    if (good_ < bytes.size()) throw Error(file.string(), "injected");
    good_ -= bytes.size();
  }
  void cut(const fs::path& file, int64_t size) override {
    if (!cuts_) throw Error(file.string(), "injected too");
    Disk::cut(file, size);
  }

 private:
  size_t good_;
  bool cuts_;
};

TEST_F(Log, HoldsItsLinesAndTheirHash) {
  AppendLog log(file_);
  log.append("one\n");
  log.append("two\nthree\n");
  EXPECT_EQ(read_file(file_), "one\ntwo\nthree\n");
  EXPECT_EQ(log.bytes(), 14);
  EXPECT_EQ(log.sha256(), sha256_hex("one\ntwo\nthree\n"));
  EXPECT_EQ(AppendLog(file_).sha256(), log.sha256());
}

TEST_F(Log, OpeningCutsATornLastLineAndNothingElse) {
  for (const char* text : {"", "t", "torn", "one\n", "one\nt", "one\ntwo\ntorn"}) {
    std::ofstream(file_) << text;
    const std::string whole(text, std::string_view(text).rfind('\n') + 1);
    AppendLog log(file_);
    EXPECT_EQ(read_file(file_), whole);
    log.append("next\n");
    EXPECT_EQ(read_file(file_), whole + "next\n");
  }
}

TEST_F(Log, KeepsTheBytesItIsToldOrRefusesWhereTheyAreLost) {
  std::ofstream(file_) << "one\ntwo\n";
  EXPECT_EQ(AppendLog(file_, 4).sha256(), sha256_hex("one\n"));
  EXPECT_EQ(read_file(file_), "one\n");
  EXPECT_THAT([&] { AppendLog log(file_, 8); },
              ThrowsMessage<Error>(HasSubstr("log: holds 4 bytes of the 8")));
}

TEST_F(Log, AWriteThatFailsAnywhereLeavesWholeLinesForTheNextWriter) {
  for (const bool cuts : {true, false}) {
    for (size_t good = 4; good < 12; ++good) {
      fs::remove(file_);
      FullDisk disk(good, cuts);
      AppendLog log(file_, std::nullopt, disk);
      log.append("one\n");
      EXPECT_THROW(log.append("two\nthree\n"), Error);
      if (cuts) {
        EXPECT_EQ(read_file(file_), "one\n") << good;
      }
      AppendLog next(file_);
      next.append("four\n");
      const std::string text = read_file(file_);
      EXPECT_THAT(text, ::testing::AnyOf("one\nfour\n", "one\ntwo\nfour\n")) << good;
      if (cuts) {
        EXPECT_EQ(text, "one\nfour\n") << good;
      }
    }
  }
}

}  // namespace
}  // namespace draftlab
