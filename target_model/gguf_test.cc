#include "target_model/gguf.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "target_model/checkpoint.h"
#include "target_model/end_tokens.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Writes GGUF files, right and wrong ones.
class GgufBuilder {
 public:
  template <typename T>
  GgufBuilder& raw(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  GgufBuilder& text(const std::string& text) {
    raw(uint64_t{text.size()});
    bytes_ += text;
    return *this;
  }
  GgufBuilder& header(uint64_t tensors, uint64_t entries, uint32_t version = 3) {
    bytes_ += "GGUF";
    return raw(version).raw(tensors).raw(entries);
  }
  GgufBuilder& entry(const std::string& key, const std::string& value) {
    return text(key).raw(uint32_t{8}).text(value);
  }
  GgufBuilder& entry(const std::string& key, uint32_t value) {
    return text(key).raw(uint32_t{4}).raw(value);
  }
  // `shape` in GGUF's order, the fastest first.
  GgufBuilder& tensor(const std::string& name, const std::vector<uint64_t>& shape, uint32_t type,
                      uint64_t offset) {
    text(name).raw(static_cast<uint32_t>(shape.size()));
    for (const uint64_t side : shape) raw(side);
    return raw(type).raw(offset);
  }
  // The end of the header; then the data.
  GgufBuilder& data(const std::string& data) {
    bytes_.append((32 - bytes_.size() % 32) % 32, '\0');
    bytes_ += data;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Gguf : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("draftlab_gguf_test_" + std::to_string(::getpid()));
    make_folder(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path write(const std::string& bytes) const {
    std::ofstream(folder_ / "x.gguf", std::ios::binary) << bytes;  // many times: no sync
    return folder_ / "x.gguf";
  }
  void expect_refused(const std::string& bytes, const std::string& reason) const {
    const fs::path file = write(bytes);
    EXPECT_THAT([&] { GgufFile{file}; },
                ThrowsMessage<Error>(AllOf(HasSubstr("x.gguf"), HasSubstr(reason))));
  }
  static std::vector<float> values(const GgufFile& file, const std::string& name) {
    std::vector<float> out(file.tensor(name).count());
    dequantise(file.tensor(name), name, out.data());
    return out;
  }
  fs::path folder_;
};

TEST_F(Gguf, MetadataOfEveryTypeReadBack) {
  GgufBuilder b;
  b.header(0, 9);
  b.text("u8").raw(uint32_t{0}).raw(uint8_t{200});
  b.text("i16").raw(uint32_t{3}).raw(int16_t{-5});
  b.text("u64").raw(uint32_t{10}).raw(uint64_t{1} << 40);
  b.text("f32").raw(uint32_t{6}).raw(0.5f);
  b.text("f64").raw(uint32_t{12}).raw(0.1);
  b.text("flag").raw(uint32_t{7}).raw(uint8_t{1});
  b.entry("name", std::string("a model"));
  b.text("words").raw(uint32_t{9}).raw(uint32_t{8}).raw(uint64_t{2}).text("x").text("");
  b.text("counts")
      .raw(uint32_t{9})
      .raw(uint32_t{5})
      .raw(uint64_t{3})
      .raw(int32_t{-1})
      .raw(int32_t{0})
      .raw(int32_t{7});
  const GgufFile file(write(b.bytes()));
  EXPECT_EQ(file.integer("u8"), 200);
  EXPECT_EQ(file.integer("i16"), -5);
  EXPECT_EQ(file.integer("u64"), int64_t{1} << 40);
  EXPECT_EQ(file.number("f32"), 0.5);
  EXPECT_EQ(file.number("f64"), 0.1);
  EXPECT_EQ(file.text("name"), "a model");
  EXPECT_THAT(file.texts("words"), ElementsAre("x", ""));
  EXPECT_THAT(file.integers("counts"), ElementsAre(-1, 0, 7));
  EXPECT_EQ(file.integer("none", 3), 3);
  EXPECT_THAT([&] { file.integer("none"); },
              ThrowsMessage<Error>(HasSubstr("has no metadata 'none'")));
  EXPECT_THAT([&] { file.integer("name"); },
              ThrowsMessage<Error>(HasSubstr("name: is not a whole number")));
}

TEST_F(Gguf, EveryDequantisedTypeGivesItsNumbers) {
  // float16: 1.0 is 0x3c00, 0.5 is 0x3800, -2.0 is 0xc000, the smallest subnormal is 1
  std::string f32(8, '\0'), q8(34, '\0'), q4(20, '\0');
  const float two[] = {1.5f, -3.f};
  std::memcpy(f32.data(), two, 8);
  const std::string f16("\x00\x3c\x00\xc0\x01\x00", 6), bf16("\x80\x3f\x20\xc0", 4);
  q8[1] = 0x38;
  for (int i = 0; i < 32; ++i) q8[2 + i] = static_cast<char>(i - 16);
  q4[1] = 0x38;
  q4[3] = static_cast<char>(0xc0);
  for (int i = 0; i < 16; ++i) q4[4 + i] = static_cast<char>(i | (15 - i) << 4);
  std::string data = f32;
  const auto place = [&](const std::string& more) {
    data.resize((data.size() + 31) / 32 * 32);
    data += more;
    return data.size() - more.size();
  };
  const size_t at16 = place(f16), at_bf = place(bf16), at8 = place(q8), at4 = place(q4);
  GgufBuilder b;
  b.header(5, 0);
  b.tensor("f32", {2, 1}, 0, 0).tensor("f16", {3}, 1, at16).tensor("bf16", {2}, 30, at_bf);
  b.tensor("q8", {32}, 8, at8).tensor("q4", {32}, 3, at4).data(data);
  const GgufFile file(write(b.bytes()));
  EXPECT_THAT(file.tensor("f32").shape, ElementsAre(1, 2));
  EXPECT_THAT(values(file, "f32"), ElementsAre(1.5f, -3.f));
  EXPECT_THAT(values(file, "f16"), ElementsAre(1.f, -2.f, std::ldexp(1.f, -24)));
  EXPECT_THAT(values(file, "bf16"), ElementsAre(1.f, -2.5f));
  const std::vector<float> v8 = values(file, "q8"), v4 = values(file, "q4");
  for (int i = 0; i < 32; ++i) EXPECT_EQ(v8[i], 0.5f * static_cast<float>(i - 16)) << i;
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(v4[i], 0.5f * static_cast<float>(i) - 2.f) << i;
    EXPECT_EQ(v4[16 + i], 0.5f * static_cast<float>(15 - i) - 2.f) << i;
  }
}

TEST_F(Gguf, OtherQuantisationsAreRefusedByName) {
  GgufBuilder b;
  b.header(2, 0).tensor("a", {256}, 12, 0).tensor("b", {8}, 99, 0).data(std::string(256, '\0'));
  const GgufFile file(write(b.bytes()));
  EXPECT_THAT([&] { values(file, "a"); }, ThrowsMessage<Error>(HasSubstr("a: is stored as Q4_K")));
  EXPECT_THAT([&] { values(file, "b"); },
              ThrowsMessage<Error>(HasSubstr("b: is stored as type 99")));
}

TEST_F(Gguf, AFileCutOffAnywhereIsAnErrorThatNamesIt) {
  GgufBuilder b;
  b.header(1, 2).entry("name", std::string("a model")).entry("general.alignment", 32);
  b.tensor("a", {4}, 0, 0).data(std::string(16, '\1'));
  const std::string whole = b.bytes();
  EXPECT_NO_THROW(GgufFile{write(whole)});
  for (size_t size = 0; size < whole.size(); ++size) {
    const fs::path file = write(whole.substr(0, size));
    EXPECT_THAT([&] { GgufFile{file}; }, ThrowsMessage<Error>(HasSubstr("x.gguf"))) << size;
  }
}

TEST_F(Gguf, BrokenHeadersAreRefusedWithTheirReason) {
  expect_refused("GGML and more text here", "is no GGUF file");
  expect_refused(GgufBuilder().header(0, 0, 2).bytes(), "version 2");
  expect_refused(GgufBuilder().header(0, uint64_t{1} << 60).bytes(), "cut off");
  expect_refused(GgufBuilder().header(0, 1).text("k").raw(uint32_t{77}).raw(uint64_t{0}).bytes(),
                 "unknown type 77");
  expect_refused(GgufBuilder().header(0, 2).entry("k", 1).entry("k", 1).bytes(),
                 "k is given twice");
  expect_refused(GgufBuilder().header(0, 1).entry("general.alignment", 3).bytes(), "power of two");
  const std::string data(64, '\0');
  expect_refused(GgufBuilder()
                     .header(1, 0)
                     .tensor("a", {uint64_t{1} << 33, uint64_t{1} << 33}, 0, 0)
                     .data(data)
                     .bytes(),
                 "a: has an impossible shape");
  expect_refused(GgufBuilder().header(1, 0).tensor("a", {33}, 3, 0).data(data).bytes(),
                 "whole number of Q4_1 blocks");
  expect_refused(GgufBuilder().header(1, 0).tensor("a", {8}, 0, 40).data(data).bytes(),
                 "a: lies past the end");
  expect_refused(
      GgufBuilder().header(1, 0).tensor("a", {8}, 0, ~uint64_t{0} - 4).data(data).bytes(),
      "past the end");
  expect_refused(
      GgufBuilder().header(2, 0).tensor("a", {1}, 0, 0).tensor("a", {1}, 0, 0).data(data).bytes(),
      "twice");
}

// Sizes of a model that no file has: found before a division, an allocation or a copy by them.
TEST_F(Gguf, ImpossibleSizesAreRefusedByNameBeforeTheyAreUsed) {
  const auto open = [&](const std::string& changed, int64_t value,
                        const std::vector<uint64_t>& embedding = {8, 16}) {
    GgufBuilder b;
    b.header(1, 9).entry("general.architecture", "llama");
    for (const auto& [key, usual] : std::map<std::string, int64_t>{{"block_count", 1},
                                                                   {"embedding_length", 8},
                                                                   {"attention.head_count", 2},
                                                                   {"attention.head_count_kv", 1},
                                                                   {"feed_forward_length", 12},
                                                                   {"context_length", 64},
                                                                   {"attention.key_length", 4}}) {
      b.text("llama." + key).raw(uint32_t{11}).raw(key == changed ? value : usual);
    }
    b.text("llama.attention.layer_norm_rms_epsilon").raw(uint32_t{6}).raw(1e-5f);
    b.tensor("token_embd.weight", embedding, 0, 0).data(std::string(4 * 8 * 16, '\0'));
    write(b.bytes());
    open_target({"gguf", folder_ / "x.gguf"});
  };
  const auto expect_refused = [&](const std::string& key, int64_t value, const std::string& what) {
    EXPECT_THAT([&] { open(key, value); },
                ThrowsMessage<Error>(AllOf(HasSubstr("x.gguf"), HasSubstr(what))))
        << key << " " << value;
  };
  for (const int64_t value : {int64_t{0}, int64_t{-2}, int64_t{1} << 31, int64_t{1} << 62}) {
    expect_refused("attention.head_count", value, "number of heads: must lie between");
    expect_refused("attention.head_count_kv", value, "key and value heads: must lie between");
    expect_refused("block_count", value, "number of layers: must lie between");
    expect_refused("embedding_length", value, "hidden size: must lie between");
    expect_refused("feed_forward_length", value, "intermediate size: must lie between");
    expect_refused("context_length", value, "context length: must lie between");
    expect_refused("attention.key_length", value, "head_dim: must lie between");
  }
  expect_refused("attention.key_length", -16, "head_dim: must lie between");
  expect_refused("attention.key_length", 3, "head_dim must be even");
  expect_refused("attention.head_count_kv", 3, "must be a multiple");
  expect_refused("embedding_length", 16, "token_embd.weight: has another shape");
  expect_refused("", 0, "has no tensor 'blk.0.attn_q.weight'");
  EXPECT_THAT([&] { open("", 0, {}); },
              ThrowsMessage<Error>(HasSubstr("vocabulary: must lie between")));
}

TEST_F(Gguf, EveryEndOfATurnCounts) {
  GgufBuilder b;
  b.header(0, 3).entry("tokenizer.ggml.eos_token_id", 2).entry("tokenizer.ggml.eot_token_id", 7);
  b.entry("tokenizer.ggml.eom_token_id", 2);
  const GgufFile file(write(b.data("").bytes()));
  EXPECT_THAT(end_tokens(file, 8), ::testing::ElementsAre(2, 7));
  EXPECT_THAT([&] { end_tokens(file, 7); },
              ThrowsMessage<Error>(HasSubstr("eot_token_id: must lie between 0 and 6")));
}

TEST_F(Gguf, ModelsThatAreNotSupportedAreRefusedByName) {
  const auto llama = [](const std::string& architecture) {
    GgufBuilder b;
    b.header(1, 9).entry("general.architecture", architecture);
    for (const char* key : {"block_count", "embedding_length", "attention.head_count",
                            "feed_forward_length", "context_length"}) {
      b.entry(architecture + "." + key, 4);
    }
    b.entry(architecture + ".rope.dimension_count", 2);
    b.text(architecture + ".attention.layer_norm_rms_epsilon").raw(uint32_t{6}).raw(1e-5f);
    return b;
  };
  const std::string end = GgufBuilder().tensor("token_embd.weight", {4, 8}, 0, 0).bytes();
  const auto open = [&](GgufBuilder b, const std::string& key, const std::string& value) {
    b.entry(key, value);
    std::string bytes = b.bytes() + end;
    bytes.resize((bytes.size() + 31) / 32 * 32 + 4 * 8 * 4);
    open_gguf(write(bytes));
  };
  EXPECT_THAT([&] { open(llama("gemma"), "x", "y"); },
              ThrowsMessage<Error>(HasSubstr("architecture 'gemma'")));
  EXPECT_THAT([&] { open(llama("llama"), "llama.rope.scaling.type", "yarn"); },
              ThrowsMessage<Error>(HasSubstr("uses llama.rope.scaling.type")));
  EXPECT_THAT([&] { open(llama("llama"), "x", "y"); },
              ThrowsMessage<Error>(HasSubstr("only a part of each head")));
  EXPECT_THAT([&] { open_gguf(folder_ / "none.gguf"); },
              ThrowsMessage<Error>(HasSubstr("none.gguf: no such GGUF file")));
}

}  // namespace
}  // namespace draftlab
