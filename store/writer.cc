#include "store/writer.h"

#include "base/error.h"
#include "base/hash.h"
#include "store/specification.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

const fs::path& made(const fs::path& folder) {
  make_folder(folder);
  return folder;
}

void require_same_specification(const fs::path& file, const StoreManifest& there,
                                const StoreManifest& here) {
  std::string text;
  for (const std::string& line : differences(there.specification, here.specification))
    text += "\n  " + line;
  if (text.empty()) return;
  throw Error(file.string(), "this folder holds a store of another specification:" + text +
                                 "\nchoose another folder, or remove this one");
}

bool is_intact(const fs::path& folder, const ShardEntry& shard) {
  const fs::path file = folder / shard.file;
  return fs::is_regular_file(file) && sha256_hex_of_file(file) == shard.sha256;
}

}  // namespace

fs::path building_file(const fs::path& store_folder) { return store_folder / "building.json"; }

StoreWriter::StoreWriter(const fs::path& folder, StoreManifest header, int64_t shards)
    : folder_(made(folder)), lock_(folder / "lock"), header_(std::move(header)), shards_(shards) {
  const bool complete = fs::exists(manifest_file(folder_));
  const fs::path old = complete ? manifest_file(folder_) : building_file(folder_);
  if (fs::exists(old)) {
    const StoreManifest there = manifest_from_json(read_json(old), old.string());
    require_same_specification(old, there, header_);
    for (int64_t i = 0; i < shards_; ++i) {
      for (const ShardEntry& shard : there.shards) {
        if (shard.file == shard_name(i) && is_intact(folder_, shard)) finished_[i] = shard;
      }
    }
  }
  if (!complete) write_building();
}

void StoreWriter::write_shard(int64_t index, const std::vector<StoredSequence>& sequences) {
  const Shard shard = make_shard(index, sequences, row_widths(header_));
  replace_file(folder_ / shard.entry.file, shard.bytes);
  finished_[index] = shard.entry;
  write_building();
}

StoreManifest StoreWriter::finish() {
  for (int64_t i = 0; i < shards_; ++i) {
    if (!has_shard(i))
      throw Error((folder_ / shard_name(i)).string(), "was not written; build the store again");
  }
  const StoreManifest done = manifest();
  write_manifest(folder_, done);
  fs::remove(building_file(folder_));
  return done;
}

void StoreWriter::write_building() const {
  replace_file(building_file(folder_), pretty(to_json(manifest())));
}

StoreManifest StoreWriter::manifest() const {
  StoreManifest manifest = header_;
  int64_t looped = 0;
  manifest.shards.clear();
  for (const auto& [index, shard] : finished_) {
    manifest.shards.push_back(shard);
    for (const RecordEntry& record : shard.records) looped += record.looped;
  }
  const int64_t records = manifest.records();
  manifest.looped_share =
      records > 0 ? static_cast<double>(looped) / static_cast<double>(records) : 0;
  return manifest;
}

}  // namespace draftlab
