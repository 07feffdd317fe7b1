#pragma once

#include <boost/pfr.hpp>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "base/json.h"
#include "base/number_text.h"

namespace draftlab {

// For tests: walks all fields of a plain structure, and of the structures and lists in it, so that
// a test of "every field" holds for the field that is added tomorrow too.

// A value of a structure where it lies: `path` counts fields and elements from 0 ("1.4" is the
// fifth field of the second one). Exactly one of the pointers is set.
struct Field {
  std::string path;
  int64_t* integer = nullptr;
  double* number = nullptr;
  bool* boolean = nullptr;
  std::string* text = nullptr;
  std::filesystem::path* file = nullptr;
  Json* json = nullptr;
};

template <typename T>
void add_fields(T& value, const std::string& path, std::vector<Field>& fields) {
  const auto inside = [&path](size_t i) {
    return (path.empty() ? "" : path + ".") + std::to_string(i);
  };
  if constexpr (std::is_same_v<T, int64_t>) {
    fields.push_back({.path = path, .integer = &value});
  } else if constexpr (std::is_same_v<T, double>) {
    fields.push_back({.path = path, .number = &value});
  } else if constexpr (std::is_same_v<T, bool>) {
    fields.push_back({.path = path, .boolean = &value});
  } else if constexpr (std::is_same_v<T, std::string>) {
    fields.push_back({.path = path, .text = &value});
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    fields.push_back({.path = path, .file = &value});
  } else if constexpr (std::is_same_v<T, Json>) {
    fields.push_back({.path = path, .json = &value});
  } else if constexpr (std::is_same_v<T, JsonObject>) {
    for (auto& member : value) {
      if (member.value().is_object()) {
        add_fields(member.value().as_object(), path + "." + std::string(member.key()), fields);
      } else {
        add_fields(member.value(), path + "." + std::string(member.key()), fields);
      }
    }
  } else if constexpr (requires { typename T::mapped_type; }) {
    for (auto& [key, mapped] : value) add_fields(mapped, path + "." + key, fields);
  } else if constexpr (std::is_enum_v<T>) {
    // Its values are a list of their own: left to the test.
  } else if constexpr (requires { value.has_value(); }) {
    if (value) add_fields(*value, path, fields);
  } else if constexpr (requires { value.push_back(value.front()); }) {
    for (size_t i = 0; i < value.size(); ++i) add_fields(value[i], inside(i), fields);
  } else {
    boost::pfr::for_each_field(
        value, [&](auto& field, size_t i) { add_fields(field, inside(i), fields); });
  }
}

template <typename T>
std::vector<Field> every_field(T& value) {
  std::vector<Field> fields;
  add_fields(value, "", fields);
  return fields;
}

// Gives the field another value.
inline void change(const Field& field) {
  if (field.integer) ++*field.integer;
  if (field.number) *field.number = *field.number * 2 + 0.125;
  if (field.boolean) *field.boolean = !*field.boolean;
  if (field.text) *field.text += "x";
  if (field.file) *field.file += "x";
  if (field.json) *field.json = canonical(*field.json) + "x";
}

// The values, for comparisons; NaN equals NaN.
template <typename T>
std::vector<std::string> field_texts(T value) {
  std::vector<std::string> texts;
  for (const Field& field : every_field(value)) {
    std::string text = field.path + ": ";
    if (field.integer) text += std::to_string(*field.integer);
    if (field.number) text += number_text(*field.number);
    if (field.boolean) text += *field.boolean ? "true" : "false";
    if (field.text) text += *field.text;
    if (field.file) text += field.file->string();
    if (field.json) text += canonical(*field.json);
    texts.push_back(text);
  }
  return texts;
}

// Numbers all fields through, so that no two of one type are equal: what is read back into the
// wrong field is seen. Lists keep their lengths.
template <typename T>
T numbered(T value) {
  int64_t count = 0;
  for (const Field& field : every_field(value)) {
    ++count;
    if (field.integer) *field.integer = count;
    if (field.number) *field.number = static_cast<double>(count) + 0.5;
    if (field.boolean) *field.boolean = true;
    if (field.text) *field.text = "text " + std::to_string(count);
  }
  return value;
}

}  // namespace draftlab
