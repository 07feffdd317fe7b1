#include "store/verify.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/manifest.h"
#include "store/record_check.h"
#include "store/shard.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

class ShardVerifier {
 public:
  ShardVerifier(const StoreManifest& manifest, int64_t index, const fs::path& folder,
                std::vector<Finding>& findings)
      : manifest_(manifest),
        index_(index),
        entry_(manifest.shards[index]),
        path_(folder / entry_.file),
        findings_(findings) {}

  void run() {
    std::error_code code;
    const auto size = static_cast<int64_t>(fs::file_size(path_, code));
    if (code) return add(-1, "is missing");
    if (size != entry_.bytes) return wrong_size(size);
    try {
      const SafetensorsFile file(path_);
      const size_t before = findings_.size();
      const bool changed = sha256_hex(file.all_bytes()) != entry_.sha256;
      if (!labels_fit(file)) return;
      for (size_t i = 0; i < entry_.records.size(); ++i)
        check_record(file, static_cast<int64_t>(i));
      if (changed && findings_.size() == before)
        add(-1, "its bytes changed outside of the records' data");
    } catch (const Error& error) {
      add(-1, error.what());
    }
  }

 private:
  void add(int64_t record, const std::string& what) {
    const std::string prompt = record < 0 ? "" : "(" + entry_.records[record].prompt_id + ") ";
    findings_.push_back({entry_.file, record, prompt + what});
  }

  void wrong_size(int64_t size) {
    const std::string text =
        "has " + std::to_string(size) + " bytes, the manifest says " + std::to_string(entry_.bytes);
    if (size > entry_.bytes) return add(-1, text);
    // The records whose bytes are gone.
    const MappedFile map(path_);
    std::vector<bool> cut(entry_.records.size(), false);
    try {
      for (const auto& [name, span] :
           read_safetensors_header(map.bytes(), path_.string()).tensors) {
        const auto record = std::stoul(name);
        if (span.end > map.bytes().size() && record < cut.size()) cut[record] = true;
      }
    } catch (const std::exception&) {  // cut off inside the header: every record is gone
      return add(-1, text + "; it is truncated inside its header");
    }
    for (size_t i = 0; i < cut.size(); ++i) {
      if (cut[i]) add(static_cast<int64_t>(i), "is cut off: the shard is truncated, it " + text);
    }
  }

  bool labels_fit(const SafetensorsFile& file) {
    const ShardLabel label = shard_label(file);
    for (size_t i = 0; i < entry_.records.size(); ++i) {
      const std::string found = i < label.prompt_ids.size() ? label.prompt_ids[i] : "nothing";
      if (found == entry_.records[i].prompt_id && label.index == index_) continue;
      add(static_cast<int64_t>(i), "holds '" + found + "': this file is " +
                                       shard_name(label.index) +
                                       ", swapped or renamed, or from another store");
      return false;
    }
    return true;
  }

  void check_record(const SafetensorsFile& file, int64_t i) {
    const RecordEntry& expected = entry_.records[i];
    StoreRecord record;
    try {
      record = shard_record(file, i, expected, row_widths(manifest_));
    } catch (const Error& error) {
      return add(i, error.what());
    }
    if (record_sha256(record) != expected.sha256) add(i, "its bytes changed");
    for (const std::string& fault : faults_of(record, manifest_)) add(i, fault);
  }

  const StoreManifest& manifest_;
  int64_t index_;
  const ShardEntry& entry_;
  fs::path path_;
  std::vector<Finding>& findings_;
};

}  // namespace

std::string to_text(const Finding& finding) {
  if (finding.record < 0) return finding.shard + ": " + finding.what;
  return finding.shard + ", record " + std::to_string(finding.record) + ": " + finding.what;
}

std::vector<Finding> verify_store(const fs::path& folder) {
  const StoreManifest manifest = read_manifest(folder);
  std::vector<Finding> findings;
  for (size_t i = 0; i < manifest.shards.size(); ++i) {
    ShardVerifier(manifest, static_cast<int64_t>(i), folder, findings).run();
  }
  return findings;
}

}  // namespace draftlab
