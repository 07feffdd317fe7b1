#include "store/reader.h"

#include "base/error.h"
#include "store/file_hash.h"
#include "store/file_state.h"
#include "store/record_check.h"
#include "store/safetensors.h"
#include "store/shard.h"

namespace draftlab {

namespace fs = std::filesystem;

struct StoreReader::Shard {
  const ShardEntry* entry;
  int64_t first_record;  // index of its record 0 in the store
  std::unique_ptr<SafetensorsFile> file = nullptr;
  FileState state = {};  // of that file, once it is open
};

StoreReader::StoreReader(const fs::path& folder)
    : folder_(folder), manifest_(read_manifest(folder)) {
  int64_t first = 0;
  for (const ShardEntry& entry : manifest_.shards) {
    shards_.push_back(std::make_unique<Shard>(Shard{&entry, first}));
    first += static_cast<int64_t>(entry.records.size());
  }
}

StoreReader::~StoreReader() = default;

int64_t StoreReader::size() const { return manifest_.records(); }

StoreRecord StoreReader::record(int64_t index) {
  auto found = shards_.rbegin();
  while (found != shards_.rend() && (*found)->first_record > index) ++found;
  if (index < 0 || found == shards_.rend() ||
      index - (*found)->first_record >= static_cast<int64_t>((*found)->entry->records.size())) {
    throw Error(folder_.string(), "has no record " + std::to_string(index));
  }
  Shard& shard = **found;
  if (!shard.file) {
    open(shard);
  } else if (const fs::path path = folder_ / shard.entry->file; file_state(path) != shard.state) {
    const FileState state = file_state(path);
    // Other rights or another name for it are no other bytes.
    if (sha256_once(path) != shard.entry->sha256)
      throw Error(path.string(), "changed while it was in use; put the store back and resume");
    shard.state = state;
  }
  const int64_t local = index - shard.first_record;
  return shard_record(*shard.file, local, shard.entry->records[local], row_widths(manifest_));
}

void StoreReader::open(Shard& shard) const {
  const fs::path path = folder_ / shard.entry->file;
  shard.state = file_state(path);
  const auto size = static_cast<int64_t>(shard.state.size);
  if (size != shard.entry->bytes) {
    throw Error(path.string(), "has " + std::to_string(size) + " bytes, the manifest says " +
                                   std::to_string(shard.entry->bytes) + "; build the store again");
  }
  auto file = std::make_unique<SafetensorsFile>(path);
  if (sha256_once(path) != shard.entry->sha256) {
    throw Error(
        path.string(),
        "its bytes are not those the manifest lists; `draftlab store verify` names the record");
  }
  for (size_t i = 0; i < shard.entry->records.size(); ++i) {
    const RecordEntry& entry = shard.entry->records[i];
    const auto faults = faults_of(
        shard_record(*file, static_cast<int64_t>(i), entry, row_widths(manifest_)), manifest_);
    if (faults.empty()) continue;
    throw Error(path.string(), "record " + std::to_string(i) + " (" + entry.prompt_id +
                                   "): " + faults[0] + "; build the store again");
  }
  shard.file = std::move(file);
}

}  // namespace draftlab
