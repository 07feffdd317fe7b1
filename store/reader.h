#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "store/manifest.h"

namespace draftlab {

// One sequence, as views into the mapped shard; valid while the StoreReader lives.
struct StoreRecord {
  const RecordEntry* entry = nullptr;
  std::span<const int32_t> token_ids;      // [S]
  std::span<const uint8_t> loss_mask;      // [S], 1 on response tokens
  std::span<const int32_t> target_argmax;  // [S], the target's greedy next token after position s
  std::span<const uint16_t>
      taps;  // [S * L_t * H] bf16 bits, row-major [S, L_t*H], taps in list order
  // [S * H] bf16 bits, row-major: the target's state behind its final norm, whose product with its
  // head are the logits of the token after position s. Empty where the store does not keep it.
  std::span<const uint16_t> final_hidden = {};
};

// Reads a store by mapping its shards. The SHA-256 of a shard and the values of its records are
// checked when it is first touched, once per process; after that, whether its file is still the
// same, each time. Throws Error naming shard and record. Not thread-safe.
class StoreReader {
 public:
  explicit StoreReader(const std::filesystem::path& folder);
  ~StoreReader();
  const StoreManifest& manifest() const { return manifest_; }
  const std::filesystem::path& folder() const { return folder_; }
  int64_t size() const;  // records, in manifest order
  StoreRecord record(int64_t index);

 private:
  struct Shard;
  void open(Shard& shard) const;
  std::filesystem::path folder_;
  StoreManifest manifest_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace draftlab
