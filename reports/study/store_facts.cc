#include "reports/study/store_facts.h"

#include "base/error.h"
#include "base/json.h"

namespace draftlab {
namespace {

std::string text(const JsonObject& object, const char* key) {
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::optional<int64_t> integer(const JsonObject& object, const char* key) {
  const Json* value = object.if_contains(key);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return value->get_int64();
}

const JsonArray& array(const JsonObject& object, const char* key) {
  static const JsonArray empty;
  const Json* value = object.if_contains(key);
  return value != nullptr && value->is_array() ? value->get_array() : empty;
}

void count_tokens(const JsonObject& manifest, StoreFacts& facts) {
  for (const Json& shard : array(manifest, "shards")) {
    if (!shard.is_object()) continue;
    for (const Json& record : array(shard.get_object(), "records")) {
      if (!record.is_object()) continue;
      const auto length = integer(record.get_object(), "length");
      const auto prompt = integer(record.get_object(), "prompt_length");
      facts.records = facts.records.value_or(0) + 1;
      facts.tokens = facts.tokens.value_or(0) + length.value_or(0);
      facts.response_tokens =
          facts.response_tokens.value_or(0) + length.value_or(0) - prompt.value_or(0);
    }
  }
}

}  // namespace

StoreFacts read_store_facts(const std::filesystem::path& store_folder) {
  StoreFacts facts;
  facts.folder = store_folder;
  Json value;
  try {
    value = read_json(store_folder / "manifest.json");
  } catch (const Error& error) {
    facts.error = error.what();
    return facts;
  }
  const auto* manifest = value.if_object();
  if (manifest == nullptr) {
    facts.error = (store_folder / "manifest.json").string() + ": is not an object";
    return facts;
  }
  facts.target_name = text(*manifest, "target_name");
  facts.target_architecture = text(*manifest, "target_architecture");
  facts.target_sha256 = text(*manifest, "target_sha256");
  facts.tokenizer_sha256 = text(*manifest, "tokenizer_sha256");
  facts.responses = text(*manifest, "responses");
  facts.target_layers = integer(*manifest, "target_layers");
  if (const Json* share = manifest->if_contains("looped_share")) {
    if (share->is_number()) facts.looped_share = json_number(*share, "looped_share");
  }
  for (const Json& tap : array(*manifest, "taps")) {
    if (tap.is_int64()) facts.taps.push_back(tap.get_int64());
  }
  count_tokens(*manifest, facts);
  return facts;
}

}  // namespace draftlab
