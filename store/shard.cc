#include "store/shard.h"

#include <cstdio>

#include "base/error.h"
#include "base/hash.h"
#include "base/number_text.h"

namespace draftlab {
namespace {

std::string tensor_name(int64_t record, const char* what) {
  return std::to_string(record) + "." + what;
}

template <typename Values>
std::string_view bytes_of(const Values& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])};
}

template <typename T>
std::span<const T> view(const SafetensorsFile& shard, int64_t record, const char* what,
                        const char* dtype, const std::vector<int64_t>& shape,
                        const std::string& where) {
  const auto found = shard.tensors().find(tensor_name(record, what));
  if (found == shard.tensors().end()) throw Error(where, std::string("has no ") + what);
  const SafetensorsEntry& entry = found->second;
  if (entry.dtype != dtype || entry.shape != shape) {
    throw Error(where, std::string(what) + " has another dtype or shape than the manifest says");
  }
  return {reinterpret_cast<const T*>(entry.bytes.data()), entry.bytes.size() / sizeof(T)};
}

}  // namespace

std::string shard_name(int64_t index) {
  char name[64];
  std::snprintf(name, sizeof name, "shard_%05lld.safetensors", static_cast<long long>(index));
  return name;
}

RowWidths row_widths(const StoreManifest& manifest) {
  return {manifest.tap_width(), manifest.final_hidden_width()};
}

std::string record_sha256(const StoreRecord& record) {
  Sha256 sum;
  sum.add(bytes_of(record.token_ids));
  sum.add(bytes_of(record.loss_mask));
  sum.add(bytes_of(record.target_argmax));
  sum.add(bytes_of(record.taps));
  sum.add(bytes_of(record.final_hidden));
  return sum.hex();
}

Shard make_shard(int64_t index, const std::vector<StoredSequence>& sequences,
                 const RowWidths& widths) {
  Shard shard;
  shard.entry.file = shard_name(index);
  std::map<std::string, SafetensorsEntry> tensors;
  JsonArray prompt_ids;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const StoredSequence& s = sequences[i];
    const auto length = static_cast<int64_t>(s.token_ids.size());
    const auto add = [&](const char* what, const char* dtype, std::vector<int64_t> shape,
                         std::string_view bytes) {
      tensors[tensor_name(i, what)] = {dtype, std::move(shape), bytes};
    };
    add("token_ids", "I32", {length}, bytes_of(s.token_ids));
    add("loss_mask", "U8", {length}, bytes_of(s.loss_mask));
    add("target_argmax", "I32", {length}, bytes_of(s.target_argmax));
    add("taps", "BF16", {length, widths.taps}, bytes_of(s.taps));
    if (widths.final_hidden > 0)
      add("final_hidden", "BF16", {length, widths.final_hidden}, bytes_of(s.final_hidden));
    prompt_ids.push_back(Json(s.prompt_id));
    const StoreRecord record{nullptr,         s.token_ids, s.loss_mask,
                             s.target_argmax, s.taps,      s.final_hidden};
    shard.entry.records.push_back(
        {s.prompt_id, length, s.prompt_length, s.looped, record_sha256(record), s.group});
  }
  shard.bytes = safetensors_bytes(tensors, {{"format", "draftlab_store"},
                                            {"shard", std::to_string(index)},
                                            {"prompt_ids", canonical(prompt_ids)}});
  shard.entry.bytes = static_cast<int64_t>(shard.bytes.size());
  shard.entry.sha256 = sha256_hex(shard.bytes);
  return shard;
}

StoreRecord shard_record(const SafetensorsFile& shard, int64_t index, const RecordEntry& entry,
                         const RowWidths& widths) {
  const std::string where =
      shard.file().string() + ", record " + std::to_string(index) + " (" + entry.prompt_id + ")";
  StoreRecord record;
  record.entry = &entry;
  record.token_ids = view<int32_t>(shard, index, "token_ids", "I32", {entry.length}, where);
  record.loss_mask = view<uint8_t>(shard, index, "loss_mask", "U8", {entry.length}, where);
  record.target_argmax = view<int32_t>(shard, index, "target_argmax", "I32", {entry.length}, where);
  record.taps = view<uint16_t>(shard, index, "taps", "BF16", {entry.length, widths.taps}, where);
  if (widths.final_hidden > 0) {
    record.final_hidden = view<uint16_t>(shard, index, "final_hidden", "BF16",
                                         {entry.length, widths.final_hidden}, where);
  }
  return record;
}

ShardLabel shard_label(const SafetensorsFile& shard) {
  const auto& metadata = shard.metadata();
  if (!metadata.contains("shard") || !metadata.contains("prompt_ids")) {
    throw Error(shard.file().string(),
                "is no shard of a store: its metadata name no shard and no prompts");
  }
  const std::string where = shard.file().string() + ": __metadata__.";
  ShardLabel label;
  label.index = static_cast<int64_t>(parse_number(metadata.at("shard"), where + "shard"));
  const Json ids = parse_json(metadata.at("prompt_ids"), where + "prompt_ids");
  for (const Json& id : ids.as_array()) label.prompt_ids.emplace_back(id.as_string());
  return label;
}

}  // namespace draftlab
