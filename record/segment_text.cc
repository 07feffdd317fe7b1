#include "record/segment_text.h"

#include "base/hash.h"
#include "base/json.h"

namespace draftlab {
namespace {

// The members of an object's canonical text, without its braces.
std::string members(const JsonObject& object) {
  const std::string text = canonical(object);
  return text.substr(1, text.size() - 2);
}

}  // namespace

SegmentText::SegmentText(const SegmentConfig& config) {
  // Canonical text sorts its keys, so what lies before, between and behind the two is three texts.
  JsonObject before, between, after;
  for (const auto& [key, value] : to_json(config)) {
    if (key == "parent" || key == "seeds") continue;
    (key < "parent" ? before : key < "seeds" ? between : after)[key] = value;
  }
  before_parent_ = "{" + members(before) + ",\"parent\":";
  before_seeds_ = "," + members(between) + ",\"seeds\":";
  after_seeds_ = "," + members(after) + "}";
}

std::string SegmentText::id(const std::string& parent, const Seeds& seeds) const {
  const JsonObject seeds_object{
      {"weights", seeds.weights}, {"data", seeds.data}, {"noise", seeds.noise}};
  return sha256_hex(before_parent_ + canonical(Json(parent)) + before_seeds_ +
                    canonical(seeds_object) + after_seeds_)
      .substr(0, 16);
}

}  // namespace draftlab
