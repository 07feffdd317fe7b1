#include "record/store_facts.h"

#include <array>

namespace draftlab {
namespace {

struct Text {
  const char* key;
  std::string StoreFacts::*field;
};
constexpr std::array<Text, 5> kTexts = {{{"target_name", &StoreFacts::target_name},
                                         {"target_architecture", &StoreFacts::target_architecture},
                                         {"target_sha256", &StoreFacts::target_sha256},
                                         {"tokenizer_sha256", &StoreFacts::tokenizer_sha256},
                                         {"responses", &StoreFacts::responses}}};

struct Count {
  const char* key;
  std::optional<int64_t> StoreFacts::*field;
};
constexpr std::array<Count, 6> kCounts = {{{"target_layers", &StoreFacts::target_layers},
                                           {"hidden_size", &StoreFacts::hidden_size},
                                           {"vocab_size", &StoreFacts::vocab_size},
                                           {"records", &StoreFacts::records},
                                           {"tokens", &StoreFacts::tokens},
                                           {"response_tokens", &StoreFacts::response_tokens}}};

}  // namespace

JsonObject to_json(const StoreFacts& facts) {
  JsonObject object;
  for (const Text& text : kTexts) object[text.key] = facts.*text.field;
  object["taps"] = JsonArray(facts.taps.begin(), facts.taps.end());
  object["mask_token_id"] = facts.mask_token_id;
  for (const Count& count : kCounts) {
    if (facts.*count.field) object[count.key] = *(facts.*count.field);
  }
  if (facts.looped_share) object["looped_share"] = *facts.looped_share;
  if (facts.final_hidden) object["final_hidden"] = true;
  return object;
}

StoreFacts store_facts_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  StoreFacts facts;
  for (const Text& text : kTexts) facts.*text.field = fields.text(text.key);
  facts.taps = fields.integers("taps");
  facts.mask_token_id = fields.integer("mask_token_id");
  for (const Count& count : kCounts) {
    if (fields.has(count.key)) facts.*count.field = fields.integer(count.key);
  }
  if (fields.has("looped_share")) facts.looped_share = fields.number("looped_share");
  if (fields.has("final_hidden")) facts.final_hidden = fields.boolean("final_hidden");
  fields.finish();
  return facts;
}

}  // namespace draftlab
