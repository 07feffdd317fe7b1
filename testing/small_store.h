#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "store/manifest.h"
#include "store/shard.h"
#include "store/verify.h"
#include "store/writer.h"

namespace draftlab {

// For tests: one small store of two shards with three sequences each.
inline constexpr int64_t kHidden = 4, kTaps = 2, kVocabulary = 50, kShards = 2, kPerShard = 3;

inline StoreManifest header() {
  StoreManifest m;
  m.specification = {{"name", "small"}, {"responses", {{"seed", 1}}}};
  m.target_name = "made up";
  m.target_architecture = "llama";
  m.target_sha256 = "abc";
  m.target_layers = 3;
  m.hidden_size = kHidden;
  m.vocab_size = kVocabulary;
  m.taps = {0, 2};
  m.responses = "greedy";
  return m;
}

inline std::vector<StoredSequence> sequences_of(int64_t shard) {
  std::vector<StoredSequence> sequences;
  for (int64_t i = 0; i < kPerShard; ++i) {
    Random random(7, "store_test", shard * kPerShard + i);
    StoredSequence s;
    s.prompt_id = "p" + std::to_string(shard * kPerShard + i);
    s.prompt_length = 2 + i;
    const int64_t length = 5 + i;
    s.looped = i == 1;
    for (int64_t t = 0; t < length; ++t) {
      s.token_ids.push_back(static_cast<int32_t>(random.below(kVocabulary)));
      s.target_argmax.push_back(static_cast<int32_t>(random.below(kVocabulary)));
      s.loss_mask.push_back(t >= s.prompt_length);
    }
    for (int64_t t = 0; t < length * kTaps * kHidden; ++t)
      s.taps.push_back(static_cast<uint16_t>(random.below(0x7f80)));
    sequences.push_back(std::move(s));
  }
  return sequences;
}

class SmallStore : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("draftlab_store_test_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Builds the store, its sequences changed by `change` before they are written.
  template <typename Change>
  StoreManifest build(Change change) {
    StoreWriter writer(folder_, header(), kShards);
    for (int64_t shard = 0; shard < kShards; ++shard) {
      std::vector<StoredSequence> sequences = sequences_of(shard);
      for (StoredSequence& sequence : sequences) change(sequence);
      writer.write_shard(shard, sequences);
    }
    return writer.finish();
  }
  StoreManifest build() {
    return build([](StoredSequence&) {});
  }

  std::vector<std::string> findings() const {
    std::vector<std::string> texts;
    for (const Finding& finding : verify_store(folder_)) texts.push_back(to_text(finding));
    return texts;
  }
  std::filesystem::path shard(int64_t index) const { return folder_ / shard_name(index); }

  // Where a tensor of a shard lies in its file.
  size_t offset_of(int64_t index, const std::string& tensor) const {
    return read_safetensors_header(read_file(shard(index)), "x").tensors.at(tensor).begin;
  }
  void flip_byte(const std::filesystem::path& file, size_t offset) const {
    std::string bytes = read_file(file);
    bytes[offset] = static_cast<char>(bytes[offset] ^ 1);
    std::ofstream(file, std::ios::binary) << bytes;
  }
  std::filesystem::path folder_;
};

}  // namespace draftlab
