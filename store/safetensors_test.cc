#include "store/safetensors.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "source_dir.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Safetensors : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("draftlab_safetensors_test_" + std::to_string(::getpid()));
    make_folder(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A file with this JSON header and data.
  fs::path write(const std::string& header, const std::string& data) {
    std::string bytes(8, '\0');
    const uint64_t length = header.size();
    std::memcpy(bytes.data(), &length, 8);
    replace_file(folder_ / "x.safetensors", bytes + header + data);
    return folder_ / "x.safetensors";
  }
  void expect_refused(const std::string& header, const std::string& data,
                      const std::string& reason) {
    const fs::path file = write(header, data);
    EXPECT_THAT([&] { SafetensorsFile{file}; }, ThrowsMessage<Error>(HasSubstr(reason))) << header;
  }
  fs::path folder_;
};

std::string shape_text(const std::vector<int64_t>& shape) {
  return canonical(JsonArray(shape.begin(), shape.end()));
}

void compare_with_expected(const fs::path& folder) {
  if (!fs::exists(folder / "expected.json")) GTEST_SKIP() << folder << " is not here";
  const Json expected = read_json(folder / "expected.json");
  int64_t files = 0;
  for (const auto& field : expected.get_object()) {
    const std::string name(field.key());
    if (!fs::exists(folder / name)) continue;  // listed, but not carried along
    ++files;
    if (name.find("must_be_rejected") != std::string::npos) {
      EXPECT_THAT([&] { SafetensorsFile{folder / name}; }, ThrowsMessage<Error>(HasSubstr(name)));
      continue;
    }
    const SafetensorsFile file(folder / name);
    const JsonObject& tensors = field.value().at("tensors").get_object();
    EXPECT_EQ(file.tensors().size(), tensors.size()) << name;
    for (const auto& tensor : tensors) {
      const SafetensorsEntry& entry = file.tensor(std::string(tensor.key()));
      EXPECT_EQ(entry.dtype, std::string(tensor.value().at("dtype").get_string())) << name;
      EXPECT_EQ(shape_text(entry.shape), canonical(tensor.value().at("shape"))) << name;
      EXPECT_EQ(sha256_hex(entry.bytes), std::string(tensor.value().at("sha256").get_string()))
          << name;
    }
    const Json& metadata = field.value().at("metadata");
    EXPECT_EQ(file.metadata().size(), metadata.is_null() ? 0 : metadata.get_object().size())
        << name;
    for (const auto& [key, text] : file.metadata())
      EXPECT_EQ(metadata.at(key).as_string(), text) << name;
  }
  EXPECT_GE(files, 3);
}

TEST_F(Safetensors, FilesThatCoverDtypesAndOddShapesReadAsExpected) {
  compare_with_expected(DRAFTLAB_SOURCE_DIR "/tests/golden/safetensors");
}

TEST_F(Safetensors, FilesOfOtherSoftwareReadAsExpectedOrAreRefused) {
  compare_with_expected(DRAFTLAB_SOURCE_DIR "/../shared/data/safetensors_third_party");
}

TEST_F(Safetensors, WhatIsWrittenReadsBackAlignedAndInAnyCaseTheSame) {
  const float numbers[] = {1, 2, 3};
  const uint8_t flags[] = {1, 0, 1};
  const std::map<std::string, SafetensorsEntry> tensors = {
      {"a", {"U8", {3}, {reinterpret_cast<const char*>(flags), 3}}},
      {"b", {"F32", {3, 1}, {reinterpret_cast<const char*>(numbers), 12}}},
      {"c", {"BF16", {0, 4}, {}}}};
  const std::string bytes = safetensors_bytes(tensors, {{"note", "a \"quoted\" text"}});
  EXPECT_EQ(bytes, safetensors_bytes(tensors, {{"note", "a \"quoted\" text"}}));
  replace_file(folder_ / "x.safetensors", bytes);
  const SafetensorsFile file(folder_ / "x.safetensors");
  ASSERT_EQ(file.tensors().size(), 3);
  for (const auto& [name, entry] : tensors) {
    EXPECT_EQ(file.tensor(name).bytes, entry.bytes) << name;
    EXPECT_EQ(file.tensor(name).shape, entry.shape) << name;
    EXPECT_EQ(file.tensor(name).dtype, entry.dtype) << name;
  }
  EXPECT_EQ((file.tensor("b").bytes.data() - file.all_bytes().data()) % 64, 0);
  EXPECT_EQ(file.metadata().at("note"), "a \"quoted\" text");
  EXPECT_THAT([&] { file.tensor("d"); }, ThrowsMessage<Error>(HasSubstr("has no tensor 'd'")));
}

TEST_F(Safetensors, BrokenHeadersAreRefusedWithTheirReason) {
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  expect_refused("{" + a + "}", "1234", "truncated");
  expect_refused("{" + a + "}", "123456789", "behind its last tensor");
  expect_refused("{" + a + "," + a + "}", "12345678", "given twice");
  expect_refused("{" + a + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[4,5]}})", "12345678",
                 "overlaps");
  expect_refused("{" + a + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[9,10]}})",
                 "1234567890", "gap");
  expect_refused(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678",
                 "need 12");
  expect_refused(R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", "12345678",
                 "unknown dtype 'F31'");
  expect_refused(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "12345678",
                 "impossible shape");
  expect_refused(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})",
                 "", "impossible");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "12345678",
                 "two rising numbers");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"extra":1}})", "12345678",
                 "extra");
  expect_refused(R"({"__metadata__":{"a":1}})", "", "must be a string");
  expect_refused("[]", "", "no JSON object");
}

TEST_F(Safetensors, FilesTooShortForTheirHeaderAreRefused) {
  replace_file(folder_ / "x", "abc");
  EXPECT_THAT([&] { SafetensorsFile{folder_ / "x"}; },
              ThrowsMessage<Error>(HasSubstr("too short")));
  replace_file(folder_ / "x", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10));
  EXPECT_THAT([&] { SafetensorsFile{folder_ / "x"}; }, ThrowsMessage<Error>(HasSubstr("cut off")));
}

}  // namespace
}  // namespace draftlab
