#include "store/manifest.h"

#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace draftlab {
namespace {

constexpr const char* kFormat = "draftlab_store";
constexpr int64_t kVersion = 1;

template <typename Count>
int64_t sum_over_records(const std::vector<ShardEntry>& shards, Count count) {
  int64_t sum = 0;
  for (const ShardEntry& shard : shards) {
    for (const RecordEntry& record : shard.records) sum += count(record);
  }
  return sum;
}

RecordEntry parse_record(const Json& value, const std::string& where) {
  Fields fields(value, where);
  RecordEntry record;
  record.prompt_id = fields.text("prompt_id");
  record.length = fields.integer("length");
  record.prompt_length = fields.integer("prompt_length");
  record.looped = fields.boolean("looped");
  record.sha256 = fields.text("sha256");
  record.group = fields.text("group", "");
  fields.finish();
  require_at_least(record.prompt_length, 1, fields.where("prompt_length"));
  require_at_least(record.length, record.prompt_length, fields.where("length"));
  return record;
}

ShardEntry parse_shard(const Json& value, const std::string& where) {
  Fields fields(value, where);
  ShardEntry shard;
  shard.file = fields.text("file");
  shard.sha256 = fields.text("sha256");
  shard.bytes = fields.integer("bytes");
  for (const Json& record : fields.array("records")) {
    shard.records.push_back(parse_record(
        record, fields.where("records") + "[" + std::to_string(shard.records.size()) + "]"));
  }
  fields.finish();
  return shard;
}

JsonArray to_json(const std::vector<ShardEntry>& shards) {
  JsonArray array;
  for (const ShardEntry& shard : shards) {
    JsonArray records;
    for (const RecordEntry& record : shard.records) {
      JsonObject object{{"prompt_id", record.prompt_id},
                        {"length", record.length},
                        {"prompt_length", record.prompt_length},
                        {"looped", record.looped},
                        {"sha256", record.sha256}};
      // Stores from before there were groups keep their hashes.
      if (!record.group.empty()) object["group"] = record.group;
      records.push_back(std::move(object));
    }
    array.push_back({{"file", shard.file},
                     {"sha256", shard.sha256},
                     {"bytes", shard.bytes},
                     {"records", std::move(records)}});
  }
  return array;
}

}  // namespace

int64_t StoreManifest::records() const {
  return sum_over_records(shards, [](const RecordEntry&) { return 1; });
}
int64_t StoreManifest::tokens() const {
  return sum_over_records(shards, [](const RecordEntry& r) { return r.length; });
}
int64_t StoreManifest::response_tokens() const {
  return sum_over_records(shards, [](const RecordEntry& r) { return r.length - r.prompt_length; });
}
int64_t StoreManifest::bytes() const {
  return std::accumulate(shards.begin(), shards.end(), int64_t{0},
                         [](int64_t sum, const ShardEntry& shard) { return sum + shard.bytes; });
}

std::vector<std::string> StoreManifest::groups() const {
  std::vector<std::string> groups;
  for (const ShardEntry& shard : shards)
    for (const RecordEntry& record : shard.records) groups.push_back(record.group);
  return groups;
}

StoreFacts StoreManifest::facts() const {
  return {.target_name = target_name,
          .target_architecture = target_architecture,
          .target_sha256 = target_sha256,
          .tokenizer_sha256 = tokenizer_sha256,
          .responses = responses,
          .taps = taps,
          .mask_token_id = mask_token_id,
          .target_layers = target_layers,
          .hidden_size = hidden_size,
          .vocab_size = vocab_size,
          .records = records(),
          .tokens = tokens(),
          .response_tokens = response_tokens(),
          .looped_share = looped_share,
          .final_hidden = !final_hidden.empty()};
}

std::string StoreManifest::hash() const {
  JsonObject object = to_json(*this);
  object.erase("target_file");
  object.erase("end_token_ids");
  return sha256_hex(canonical(object));
}

std::filesystem::path manifest_file(const std::filesystem::path& store_folder) {
  return store_folder / "manifest.json";
}

JsonObject to_json(const StoreManifest& m) {
  JsonObject object{{"format", kFormat},
                    {"version", kVersion},
                    {"specification", m.specification},
                    {"target_name", m.target_name},
                    {"target_architecture", m.target_architecture},
                    {"target_file", m.target_file},
                    {"target_sha256", m.target_sha256},
                    {"tokenizer_sha256", m.tokenizer_sha256},
                    {"target_layers", m.target_layers},
                    {"hidden_size", m.hidden_size},
                    {"vocab_size", m.vocab_size},
                    {"mask_token_id", m.mask_token_id},
                    {"taps", JsonArray(m.taps.begin(), m.taps.end())},
                    {"layer_id_convention", m.layer_id_convention},
                    {"final_norm_convention", m.final_norm_convention},
                    {"tap_dtype", m.tap_dtype},
                    {"responses", m.responses},
                    {"looped_share", m.looped_share},
                    {"shards", to_json(m.shards)}};
  // Left out where there are none: such stores keep the hashes they had before there could be some.
  if (!m.final_hidden.empty()) object["final_hidden"] = m.final_hidden;
  if (!m.end_token_ids.empty())
    object["end_token_ids"] = JsonArray(m.end_token_ids.begin(), m.end_token_ids.end());
  return object;
}

StoreManifest manifest_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  if (fields.text("format") != kFormat)
    throw Error(fields.where("format"), "this is no draftlab store");
  if (fields.integer("version") != kVersion) {
    throw Error(fields.where("version"),
                "is " + canonical(fields.any("version")) +
                    ", this draftlab reads version 1; build the store again");
  }
  StoreManifest m;
  m.specification = fields.any("specification");
  m.target_name = fields.text("target_name");
  m.target_architecture = fields.text("target_architecture");
  m.target_file = fields.text("target_file");
  m.target_sha256 = fields.text("target_sha256");
  m.tokenizer_sha256 = fields.text("tokenizer_sha256");
  m.target_layers = fields.integer("target_layers");
  m.hidden_size = fields.integer("hidden_size");
  m.vocab_size = fields.integer("vocab_size");
  m.mask_token_id = fields.integer("mask_token_id");
  if (fields.has("end_token_ids")) m.end_token_ids = fields.integers("end_token_ids");
  m.taps = fields.integers("taps");
  m.layer_id_convention = fields.text("layer_id_convention");
  m.final_norm_convention = fields.text("final_norm_convention");
  m.tap_dtype = fields.text("tap_dtype");
  m.final_hidden = fields.text("final_hidden", "");
  m.responses = fields.text("responses");
  m.looped_share = fields.number("looped_share");
  for (const Json& shard : fields.array("shards")) {
    m.shards.push_back(
        parse_shard(shard, fields.where("shards") + "[" + std::to_string(m.shards.size()) + "]"));
  }
  fields.finish();
  // Never reinterpreted: data of another convention would train a drafter on the wrong side of a
  // layer.
  require_one_of(m.layer_id_convention, {"output_of_layer"}, fields.where("layer_id_convention"));
  require_one_of(m.final_norm_convention, {"w"}, fields.where("final_norm_convention"));
  require_one_of(m.tap_dtype, {"bf16"}, fields.where("tap_dtype"));
  if (fields.has("final_hidden"))
    require_one_of(m.final_hidden, {"after_final_norm"}, fields.where("final_hidden"));
  require_at_least(m.hidden_size, 1, fields.where("hidden_size"));
  require_at_least(m.vocab_size, 1, fields.where("vocab_size"));
  require_between(m.mask_token_id, 0, m.vocab_size - 1, fields.where("mask_token_id"));
  if (m.taps.empty()) throw Error(fields.where("taps"), "must not be empty");
  for (const int64_t tap : m.taps)
    require_between(tap, 0, m.target_layers - 1, fields.where("taps"));
  return m;
}

StoreManifest read_manifest(const std::filesystem::path& store_folder) {
  const std::filesystem::path file = manifest_file(store_folder);
  if (!std::filesystem::exists(file)) {
    throw Error(store_folder.string(),
                std::filesystem::exists(store_folder / "building.json")
                    ? "this store is not finished; `draftlab store build` finishes it"
                    : "is no store: it has no manifest.json");
  }
  return manifest_from_json(read_json(file), file.string());
}

void write_manifest(const std::filesystem::path& store_folder, const StoreManifest& manifest) {
  replace_file(manifest_file(store_folder), pretty(to_json(manifest)));
}

}  // namespace draftlab
