#include "runner/sweep_changes.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/nearest_name.h"

namespace draftlab {
namespace {

[[noreturn]] void refuse(const std::string& change, const std::string& what) {
  throw Error("--set " + change, what);
}

// "arms[1].optimizer" as "arms", "[1", "optimizer": elements of lists keep their bracket.
std::vector<std::string> steps_of(const std::string& path, const std::string& change) {
  std::vector<std::string> steps;
  for (size_t at = 0; at < path.size();) {
    const bool element = path[at] == '[';
    const size_t end =
        element ? path.find(']', at) : std::min(path.find_first_of(".[", at), path.size());
    if (end == path.npos) refuse(change, "has no ] after [");
    steps.push_back(path.substr(at, end - at));
    at = element ? end + 1 : end;
    if (at < path.size() && path[at] == '.') ++at;
    if (steps.back().empty() || steps.back() == "[")
      refuse(change, "has an empty part in its path");
  }
  if (steps.empty()) refuse(change, "has no path before the =");
  return steps;
}

Json& element_of(JsonArray& list, const std::string& name, const std::string& change) {
  size_t index = 0;
  const char* end = name.data() + name.size();
  if (std::from_chars(name.data(), end, index).ptr == end) {
    if (index < list.size()) return list[index];
    refuse(change, "there is no element " + name + "; the list has " + std::to_string(list.size()));
  }
  std::vector<std::string> names;
  for (Json& each : list) {
    const Json* own = each.is_object() ? each.get_object().if_contains("name") : nullptr;
    if (own == nullptr || !own->is_string()) continue;
    if (own->get_string() == name) return each;
    names.emplace_back(own->get_string());
  }
  const std::string near = nearest_name(name, names);
  refuse(change, "no element is called '" + name + "'" +
                     (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

void apply(Json& content, const std::string& change) {
  const size_t equals = change.find('=');
  if (equals == change.npos) refuse(change, "must be PATH=VALUE, such as training.steps=100");
  Json* place = &content;
  for (const std::string& step : steps_of(change.substr(0, equals), change)) {
    if (step[0] == '[') {
      if (!place->is_array()) refuse(change, "there is no list before " + step + "]");
      place = &element_of(place->get_array(), step.substr(1), change);
    } else {
      if (place->is_null()) *place = JsonObject();
      if (!place->is_object())
        refuse(change, "there is no object that could have a '" + step + "'");
      place = &place->get_object()[step];
    }
  }
  const std::string value = change.substr(equals + 1);
  try {
    *place = parse_json(value, "value");
  } catch (const Error&) {
    *place = value;
  }
}

}  // namespace

Json with_changes(Json content, const std::vector<std::string>& changes) {
  for (const std::string& change : changes) apply(content, change);
  return content;
}

}  // namespace draftlab
