#include "target_model/end_tokens.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

class EndTokens {
 public:
  explicit EndTokens(int64_t vocab_size) : vocab_size_(vocab_size) {}
  void add(int64_t id, const std::string& where) {
    require_between(id, 0, vocab_size_ - 1, where);
    ids_.insert(id);
  }
  std::vector<int64_t> rising() const { return {ids_.begin(), ids_.end()}; }

 private:
  int64_t vocab_size_;
  std::set<int64_t> ids_;
};

// The value of a key that may be absent or null, as may be the object.
const Json* find(const Json* object, const char* key) {
  const Json* value =
      object == nullptr || !object->is_object() ? nullptr : object->get_object().if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

// A token is a text, or an object with it.
std::string content(const Json* token) {
  if (const Json* inside = find(token, "content")) token = inside;
  return token != nullptr && token->is_string() ? std::string(token->get_string()) : "";
}

std::optional<Json> read_optional(const fs::path& file) {
  if (!fs::exists(file)) return std::nullopt;
  return read_json(file);
}

int64_t whole_number(const Json& value, const std::string& where) {
  const double number = json_number(value, where);
  if (number != std::floor(number)) throw Error(where, "must be a whole number");
  return static_cast<int64_t>(std::clamp(number, -9e15, 9e15));
}

void add_ids(const fs::path& file, EndTokens& ends) {
  const std::optional<Json> json = read_optional(file);
  const Json* ids = json ? find(&*json, "eos_token_id") : nullptr;
  if (ids == nullptr) return;
  const std::string where = file.string() + ": eos_token_id";
  if (!ids->is_array()) return ends.add(whole_number(*ids, where), where);
  for (const Json& id : ids->get_array()) ends.add(whole_number(id, where), where);
}

// Texts of added tokens by id, as the tokenizer's files have them.
std::map<std::string, int64_t> added_tokens(const fs::path& folder, const Json* config) {
  std::map<std::string, int64_t> ids;
  if (const Json* decoder = find(config, "added_tokens_decoder"); decoder && decoder->is_object()) {
    for (const auto& field : decoder->get_object()) {
      const std::string where =
          (folder / "tokenizer_config.json").string() + ": " + std::string(field.key());
      ids[content(&field.value())] = whole_number(parse_json(field.key(), where), where);
    }
  }
  if (!ids.empty()) return ids;
  const fs::path file = folder / "tokenizer.json";
  const std::optional<Json> tokenizer = read_optional(file);
  const Json* added = tokenizer ? find(&*tokenizer, "added_tokens") : nullptr;
  if (added == nullptr || !added->is_array()) return ids;
  for (const Json& token : added->get_array()) {
    if (const Json* id = find(&token, "id"))
      ids[content(&token)] = whole_number(*id, file.string() + ": added_tokens");
  }
  return ids;
}

}  // namespace

std::vector<int64_t> end_tokens(const fs::path& folder, int64_t vocab_size) {
  EndTokens ends(vocab_size);
  add_ids(folder / "config.json", ends);
  add_ids(folder / "generation_config.json", ends);
  const std::optional<Json> config = read_optional(folder / "tokenizer_config.json"),
                            special = read_optional(folder / "special_tokens_map.json");
  for (const auto* file : {&config, &special}) {
    const std::string text = content(*file ? find(&**file, "eos_token") : nullptr);
    if (text.empty()) continue;
    const auto ids = added_tokens(folder, config ? &*config : nullptr);
    if (const auto found = ids.find(text); found != ids.end())
      ends.add(found->second, folder.string() + ": the id of eos_token '" + text + "'");
  }
  return ends.rising();
}

std::vector<int64_t> end_tokens_of_config(const fs::path& folder, int64_t vocab_size) {
  EndTokens ends(vocab_size);
  add_ids(folder / "config.json", ends);
  return ends.rising();
}

std::vector<int64_t> end_tokens(const GgufFile& file, int64_t vocab_size) {
  EndTokens ends(vocab_size);
  for (const char* kind : {"eos", "eot", "eom"}) {
    const std::string key = std::string("tokenizer.ggml.") + kind + "_token_id";
    if (file.has(key)) ends.add(file.integer(key), file.file().string() + ": " + key);
  }
  return ends.rising();
}

}  // namespace draftlab
