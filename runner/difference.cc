#include "runner/difference.h"

#include <algorithm>

namespace draftlab {
namespace {

constexpr char kAbsent[] = "(absent)";

std::string shown(const Json& value) {
  constexpr size_t kLongest = 200;
  std::string text = canonical(value);
  if (text.size() > kLongest) {
    size_t end = kLongest;
    while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // not inside a UTF-8 character
    text = text.substr(0, end) + "...";
  }
  return text;
}

void compare(const Json& a, const Json& b, const std::string& path,
             std::vector<Difference>& found) {
  if (a.is_object() && b.is_object()) {
    const std::string prefix = path.empty() ? "" : path + ".";
    for (const auto& field : a.get_object()) {
      const std::string here = prefix + std::string(field.key());
      if (const Json* other = b.get_object().if_contains(field.key())) {
        compare(field.value(), *other, here, found);
      } else {
        found.push_back({here, shown(field.value()), kAbsent});
      }
    }
    for (const auto& field : b.get_object()) {
      if (a.get_object().contains(field.key())) continue;
      found.push_back({prefix + std::string(field.key()), kAbsent, shown(field.value())});
    }
  } else if (a.is_array() && b.is_array() &&
             std::any_of(a.get_array().begin(), a.get_array().end(),
                         [](const Json& value) { return value.is_structured(); })) {
    const JsonArray &left = a.get_array(), &right = b.get_array();
    for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
      const std::string here = path + "[" + std::to_string(i) + "]";
      if (i >= right.size()) {
        found.push_back({here, shown(left[i]), kAbsent});
      } else if (i >= left.size()) {
        found.push_back({here, kAbsent, shown(right[i])});
      } else {
        compare(left[i], right[i], here, found);
      }
    }
  } else if (canonical(a) != canonical(b)) {
    found.push_back({path, shown(a), shown(b)});
  }
}

JsonArray runs_as_json(const PlanRecord& plan) {
  JsonArray runs;
  for (const PlannedRun& run : plan.runs) {
    runs.push_back(JsonObject{{"name", run.name},
                              {"arm", run.arm},
                              {"segments", JsonArray(run.segments.begin(), run.segments.end())}});
  }
  return runs;
}

// What the report shows and what trains, apart from the segments' own content.
JsonObject summary(const PlanRecord& plan) {
  JsonObject summary = {
      {"name", plan.name},
      {"target", JsonObject{{"metric", plan.target.metric}, {"value", plan.target.value}}},
      {"checkpoint_every", plan.checkpoint_every},
      {"store_hash", plan.store_hash}};
  // What the phases behind the first follow from.
  const JsonObject* sweep = plan.sweep.if_object();
  if (sweep != nullptr && sweep->contains("tuning")) {
    for (const char* key : {"tuning", "seeds"}) summary[key] = sweep->at(key);
  }
  return summary;
}

JsonArray segments_as_json(const PlanRecord& plan) {
  JsonArray segments;
  for (const PlannedSegment& segment : plan.segments) segments.push_back(to_json(segment.config));
  return segments;
}

}  // namespace

std::vector<Difference> find_differences(const Json& old_value, const Json& new_value) {
  std::vector<Difference> found;
  compare(old_value, new_value, "", found);
  return found;
}

std::vector<Difference> find_differences(const PlanRecord& frozen, const PlanRecord& now) {
  const bool same = canonical(runs_as_json(frozen)) == canonical(runs_as_json(now)) &&
                    canonical(summary(frozen)) == canonical(summary(now));
  if (same) return {};
  std::vector<Difference> found = find_differences(frozen.sweep, now.sweep);
  const auto stores =
      find_differences(JsonObject{{"store", frozen.store}}, JsonObject{{"store", now.store}});
  found.insert(found.end(), stores.begin(), stores.end());
  if (found.empty()) found = find_differences(summary(frozen), summary(now));
  if (found.empty()) {
    found = find_differences(JsonObject{{"segments", segments_as_json(frozen)}},
                             JsonObject{{"segments", segments_as_json(now)}});
  }
  if (found.empty()) {
    found = find_differences(JsonObject{{"runs", runs_as_json(frozen)}},
                             JsonObject{{"runs", runs_as_json(now)}});
  }
  return found;
}

std::string text_of(const std::vector<Difference>& differences, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(most, differences.size()); ++i) {
    const Difference& each = differences[i];
    text += "  " + each.path + ": " + each.old_value + " -> " + each.new_value + "\n";
  }
  if (differences.size() > most) {
    text += "  and " + std::to_string(differences.size() - most) + " more\n";
  }
  return text;
}

}  // namespace draftlab
