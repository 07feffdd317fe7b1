// What fuzzers start from, and what they found, through the same functions in every build.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "fuzz/targets.h"
#include "source_dir.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = DRAFTLAB_SOURCE_DIR "/fuzz/corpus";

TEST(FuzzCorpus, IsReadOrRefusedByEveryTarget) {
  for (const FuzzTarget& target : fuzz_targets()) {
    ASSERT_TRUE(fs::is_directory(kCorpus / target.name)) << target.name << " has no corpus";
    for (const auto& entry : fs::directory_iterator(kCorpus / target.name)) {
      SCOPED_TRACE(entry.path().string());
      EXPECT_NO_THROW(run_fuzz_target(target, read_file(entry.path())));
    }
  }
}

TEST(FuzzCorpus, CutAnywhereIsReadOrRefusedToo) {
  for (const FuzzTarget& target : fuzz_targets()) {
    for (const auto& entry : fs::directory_iterator(kCorpus / target.name)) {
      const std::string bytes = read_file(entry.path());
      SCOPED_TRACE(entry.path().string());
      for (size_t i = 1; i < 16; ++i)
        EXPECT_NO_THROW(
            run_fuzz_target(target, std::string_view(bytes).substr(0, i * bytes.size() / 16)));
    }
  }
}

}  // namespace
}  // namespace draftlab
