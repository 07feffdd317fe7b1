#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "base/lease.h"
#include "store/manifest.h"
#include "store/shard.h"

namespace draftlab {

// Writes a store shard by shard so that a build can be killed at any moment and finished later.
// While it lasts the folder holds building.json, the manifest of the shards that are finished;
// manifest.json comes last. Holds the folder's lock.
class StoreWriter {
 public:
  // Starts a store of `shards` shards, or goes on with a killed build or a damaged store: shards
  // whose bytes still have their hash count as finished. `header` is the manifest without shards
  // and looped_share. Throws Error if the folder belongs to another specification, key by key, or
  // if another process builds there, on this machine or another.
  StoreWriter(const std::filesystem::path& folder, StoreManifest header, int64_t shards);

  bool has_shard(int64_t index) const { return finished_.contains(index); }
  void write_shard(int64_t index, const std::vector<StoredSequence>& sequences);
  // Writes the manifest, with nothing changed if it is there already. Throws Error if a shard is
  // missing.
  StoreManifest finish();

 private:
  void write_building() const;
  StoreManifest manifest() const;  // of the finished shards

  std::filesystem::path folder_;
  Lease lock_;
  StoreManifest header_;
  int64_t shards_;
  std::map<int64_t, ShardEntry> finished_;
};

std::filesystem::path building_file(const std::filesystem::path& store_folder);

}  // namespace draftlab
