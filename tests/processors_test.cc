#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/dispatch.h"
#include "source_dir.h"
#include "tests/program.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

// What a command prints; qemu warns of what it cannot do on the other stream.
std::string output_of(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  std::string output;
  char piece[4096];
  for (size_t n; (n = std::fread(piece, 1, sizeof(piece), pipe)) > 0;) output.append(piece, n);
  EXPECT_EQ(::pclose(pipe), 0) << command << "\n" << output;
  return output;
}

struct Processor {
  const char* name;     // as qemu knows it
  const char* kernels;  // the clone of ours that it can run
};

// Computing on another processor than this one: qemu-user carries out each instruction as that one
// would, and has none that it has not.
class OnAnotherProcessor : public ::testing::TestWithParam<Processor> {
 protected:
  void SetUp() override {
    if (std::system("command -v qemu-x86_64 >/dev/null") != 0)
      GTEST_SKIP() << "qemu-x86_64 is not installed: apt-get install qemu-user";
    ask_for_portable_arithmetic();
  }
  static std::string emulated() { return std::string("qemu-x86_64 -cpu ") + GetParam().name + " "; }
};

TEST_P(OnAnotherProcessor, OptimizersAndDrafterGiveTheSameBits) {
  const std::string here = output_of(NUMBERS_HERE), there = output_of(emulated() + NUMBERS_HERE);
  EXPECT_EQ(there.substr(0, there.find('\n')), GetParam().kernels);
  EXPECT_EQ(there.substr(there.find('\n')), here.substr(here.find('\n')));
  EXPECT_THAT(here, HasSubstr("\ndrafter, double "));
}

TEST_P(OnAnotherProcessor, AStoreHasTheSameHash) {
  const TestFolder folder;
  const auto hash = [&](const std::string& processor, const char* name) {
    const std::string printed = output_of(
        processor + WORKER " build-store " DRAFTLAB_SOURCE_DIR "/sweeps/stores/made_up.json " +
        (folder / name).string());
    return printed.substr(printed.rfind("hash "));
  };
  EXPECT_EQ(hash(emulated(), "emulated"), hash("", "here"));
}

// Without AVX, and without AVX-512.
INSTANTIATE_TEST_SUITE_P(Processors, OnAnotherProcessor,
                         ::testing::Values(Processor{"Nehalem", "x86-64"},
                                           Processor{"Haswell", "x86-64-v3"}),
                         [](const auto& processor) { return std::string(processor.param.name); });

}  // namespace
}  // namespace draftlab
