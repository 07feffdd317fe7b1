#include "record/option.h"

namespace draftlab {
namespace {

void flatten_into(const std::string& prefix, const Json& value,
                  std::vector<std::pair<std::string, Json>>& options) {
  const auto* object = value.if_object();
  if (object == nullptr) {
    options.emplace_back(prefix, value);
    return;
  }
  for (const auto& field : *object) {
    const std::string key(field.key());
    flatten_into(prefix.empty() ? key : prefix + "." + key, field.value(), options);
  }
}

}  // namespace

std::vector<std::pair<std::string, Json>> flatten(const Json& value) {
  std::vector<std::pair<std::string, Json>> options;
  flatten_into("", value, options);
  return options;
}

std::string option_text(const Json& value) {
  if (const auto* text = value.if_string()) return std::string(*text);
  return canonical(value);
}

}  // namespace draftlab
