#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <string>

#include "base/file.h"
#include "base/hash.h"
#include "source_dir.h"
#include "tests/program.h"

namespace draftlab {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr char kNumbers[] = DRAFTLAB_SOURCE_DIR "/tests/signature_numbers.txt";

std::string expected_signature() { return read_file(DRAFTLAB_SOURCE_DIR "/tests/signature.txt"); }

// A change of behaviour changes these numbers; then write the new ones and say why:
//   draftlab signature --numbers >tests/signature_numbers.txt
//   draftlab signature >tests/signature.txt
TEST(Signature, TheNumbersBehindItAreThoseThatAreExpected) {
  const Finished signature = draftlab({"signature", "--numbers"});
  ASSERT_EQ(signature.status, 0) << signature.output;
  EXPECT_EQ(signature.output, read_file(kNumbers));
  EXPECT_EQ(sha256_hex(read_file(kNumbers)).substr(0, 16) + "\n", expected_signature());
}

TEST(Signature, VerboseNamesTheFirstNumberThatDiffersWithBothValues) {
  const TestFolder folder;
  std::string numbers = read_file(kNumbers);
  const size_t line = numbers.find('\n') + 1, value = numbers.find("loss ", line) + 5;
  const std::string is = numbers.substr(value, numbers.find('\n', value) - value);
  numbers.replace(value, is.size(), "1.5");
  replace_file(folder / "numbers.txt", numbers);
  const Finished signature =
      draftlab({"signature", "--verbose", "--expected", (folder / "numbers.txt").string()});
  EXPECT_EQ(signature.status, 0);
  EXPECT_THAT(signature.output,
              HasSubstr("first difference: " + numbers.substr(line, value - 1 - line) + " is " +
                        is + ", expected 1.5\n"));
  EXPECT_THAT(signature.output, EndsWith("\n" + expected_signature()));
}

// What a caller may ask of the libraries, one set of instructions each.
struct Asked {
  const char* name;
  bool machine_has_it;
  std::map<std::string, std::string> variables;
};

class SignatureUnder : public ::testing::TestWithParam<Asked> {
 protected:
  void SetUp() override {
    for (const auto& [name, value] : GetParam().variables) ::setenv(name.c_str(), value.c_str(), 1);
  }
  void TearDown() override {
    for (const auto& [name, value] : GetParam().variables) ::unsetenv(name.c_str());
  }
};

TEST_P(SignatureUnder, IsTheSameWhateverTheCallerAsksOfTheLibraries) {
  if (!GetParam().machine_has_it) GTEST_SKIP() << "this CPU has no " << GetParam().name;
  EXPECT_EQ(draftlab({"signature"}).output, expected_signature());
}

INSTANTIATE_TEST_SUITE_P(
    EveryInstructionSet, SignatureUnder,
    ::testing::Values(Asked{"SSE4",
                            true,
                            {{"ATEN_CPU_CAPABILITY", "default"},
                             {"MKL_CBWR", "SSE4_2"},
                             {"MKL_ENABLE_INSTRUCTIONS", "SSE4_2"},
                             {"ONEDNN_MAX_CPU_ISA", "SSE41"},
                             {"GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-AVX512F"}}},
                      Asked{"AVX",
                            __builtin_cpu_supports("avx") != 0,
                            {{"MKL_CBWR", "AVX"},
                             {"MKL_ENABLE_INSTRUCTIONS", "AVX"},
                             {"ONEDNN_MAX_CPU_ISA", "AVX"},
                             {"GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F"}}},
                      Asked{"AVX2",
                            __builtin_cpu_supports("avx2") != 0,
                            {{"ATEN_CPU_CAPABILITY", "avx2"},
                             {"MKL_CBWR", "AVX2"},
                             {"MKL_ENABLE_INSTRUCTIONS", "AVX2"},
                             {"ONEDNN_MAX_CPU_ISA", "AVX2"},
                             {"ONEDNN_CPU_ISA_HINTS", "PREFER_YMM"},
                             {"GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512F"}}},
                      Asked{"AVX512",
                            __builtin_cpu_supports("avx512vl") != 0,
                            {{"ATEN_CPU_CAPABILITY", "avx512"},
                             {"MKL_CBWR", "AVX512"},
                             {"MKL_ENABLE_INSTRUCTIONS", "AVX512"},
                             {"ONEDNN_MAX_CPU_ISA", "AVX512_CORE"},
                             {"ONEDNN_DEFAULT_FPMATH_MODE", "BF16"}}}),
    [](const auto& asked) { return std::string(asked.param.name); });

}  // namespace
}  // namespace draftlab
