#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/manifest.h"
#include "store/reader.h"
#include "store/safetensors.h"

namespace draftlab {

// The layout of one shard, shared by writer, reader and verifier (docs/store_format.md). Record i
// of a shard is the tensors "i.token_ids", "i.loss_mask", "i.target_argmax", "i.taps" and, where
// the store keeps them, "i.final_hidden"; the metadata say which shard this is and whose prompts it
// holds.

// One sequence before it is written; fields as in StoreRecord.
struct StoredSequence {
  std::string prompt_id;
  std::string group = {};  // of the prompt; empty: none was given
  int64_t prompt_length = 0;
  bool looped = false;
  std::vector<int32_t> token_ids;
  std::vector<uint8_t> loss_mask;
  std::vector<int32_t> target_argmax;
  std::vector<uint16_t> taps;
  std::vector<uint16_t> final_hidden;
};

// Numbers in a row of each tensor of hidden states.
struct RowWidths {
  int64_t taps = 0;
  int64_t final_hidden = 0;  // 0: not kept
};
RowWidths row_widths(const StoreManifest& manifest);

struct Shard {
  ShardEntry entry;   // file name, hashes, lengths
  std::string bytes;  // of the file
};

std::string shard_name(int64_t index);  // "shard_00007.safetensors"

// Puts sequences together. REQUIRES: all vectors of a sequence have its length, times their width.
Shard make_shard(int64_t index, const std::vector<StoredSequence>& sequences,
                 const RowWidths& widths);

// The views of record `index` of an open shard. Throws Error naming shard and record if a tensor is
// missing or has another dtype or shape than the entry says.
StoreRecord shard_record(const SafetensorsFile& shard, int64_t index, const RecordEntry& entry,
                         const RowWidths& widths);

// SHA-256 over the bytes of token_ids, loss_mask, target_argmax, taps, final_hidden, in this order.
std::string record_sha256(const StoreRecord& record);

// Ids of the prompts a shard says it holds, and its own index. Throws Error if it says neither.
struct ShardLabel {
  int64_t index = 0;
  std::vector<std::string> prompt_ids;
};
ShardLabel shard_label(const SafetensorsFile& shard);

}  // namespace draftlab
