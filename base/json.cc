#include "base/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest_name.h"
#include "base/number_text.h"

namespace draftlab {
namespace {

namespace json = boost::json;

std::string join(const std::string& where, std::string_view key) {
  // "file.json" + "arms" -> "file.json: arms"; "file.json: arms[0]" + "name" -> "file.json:
  // arms[0].name"
  const bool at_root = where.find(": ") == std::string::npos;
  return where + (at_root ? ": " : ".") + std::string(key);
}

// Receives Boost's parse events and builds the value, refusing duplicate keys. Doubles are read
// from their text again: Boost.JSON 1.81 rounds one in eight wrong by an ulp.
class Builder {
 public:
  static constexpr std::size_t max_object_size = -1, max_array_size = -1, max_key_size = -1,
                               max_string_size = -1;
  using error_code = json::error_code;
  using string_view = json::string_view;

  explicit Builder(std::string origin) : origin_(std::move(origin)) {}
  Json take() { return std::move(root_); }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_array_begin(error_code&) { return push(JsonArray()); }
  bool on_array_end(std::size_t, error_code&) { return pop(); }
  bool on_object_begin(error_code&) { return push(JsonObject()); }
  bool on_object_end(std::size_t, error_code&) { return pop(); }
  bool on_string_part(string_view s, std::size_t, error_code&) { return gather(s); }
  bool on_string(string_view s, std::size_t, error_code&) {
    gather(s);
    return add(json::string(take_text()));
  }
  bool on_key_part(string_view s, std::size_t, error_code&) { return gather(s); }
  bool on_key(string_view s, std::size_t, error_code&) {
    gather(s);
    keys_.back() = take_text();
    if (open_.back().as_object().contains(keys_.back())) {
      throw Error(path(), "this key is given twice; keep one of them");
    }
    return true;
  }
  bool on_number_part(string_view s, error_code&) { return gather(s); }
  bool on_int64(std::int64_t i, string_view, error_code&) {
    text_.clear();
    return add(i);
  }
  bool on_uint64(std::uint64_t u, string_view, error_code&) {
    text_.clear();
    return add(u);
  }
  bool on_double(double, string_view s, error_code&) {
    gather(s);
    const std::string text = take_text();
    double value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc()) throw Error(path(), text + " does not fit into a double");
    return add(value);
  }
  bool on_bool(bool b, error_code&) { return add(b); }
  bool on_null(error_code&) { return add(nullptr); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

 private:
  bool gather(string_view s) {
    text_.append(s.data(), s.size());
    return true;
  }
  std::string take_text() { return std::exchange(text_, {}); }
  bool push(Json container) {
    open_.push_back(std::move(container));
    keys_.emplace_back();
    return true;
  }
  bool pop() {
    Json done = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return add(std::move(done));
  }
  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().is_object()) {
      open_.back().as_object().emplace(keys_.back(), std::move(value));
    } else {
      open_.back().as_array().push_back(std::move(value));
    }
    return true;
  }
  std::string path() const {
    std::string where = origin_;
    for (size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].is_object()) {
        where = join(where, keys_[i]);
      } else {
        where += "[" + std::to_string(open_[i].as_array().size()) + "]";
      }
    }
    return where;
  }

  std::string origin_;
  Json root_;
  std::vector<Json> open_;
  std::vector<std::string> keys_;
  std::string text_;
};

std::string json_string(std::string_view text) {
  const bool plain = std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
  });
  if (!plain) return json::serialize(json::value(text));
  std::string quoted;
  quoted.reserve(text.size() + 2);
  return quoted.append(1, '"').append(text).append(1, '"');
}

std::string number(double value) {
  return std::isfinite(value) ? number_text(value) : json_string(number_text(value));
}

void write(const Json& value, bool sorted, int indent, std::string& out) {
  // indent < 0: no line breaks.
  const auto line = [&](int depth) {
    if (indent >= 0) out += "\n" + std::string(depth * 2, ' ');
  };
  const int inner = indent < 0 ? -1 : indent + 1;
  if (const auto* object = value.if_object()) {
    std::vector<const JsonObject::value_type*> fields;
    for (const auto& field : *object) fields.push_back(&field);
    if (sorted) {
      std::sort(fields.begin(), fields.end(), [](auto* a, auto* b) { return a->key() < b->key(); });
    }
    out += "{";
    for (size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) out += ",";
      line(inner);
      out += json_string(fields[i]->key()) + (indent < 0 ? ":" : ": ");
      write(fields[i]->value(), sorted, inner, out);
    }
    if (!fields.empty()) line(indent);
    out += "}";
  } else if (const auto* array = value.if_array()) {
    // A list of plain values stays on one line.
    const bool nested =
        std::any_of(array->begin(), array->end(), [](const Json& v) { return v.is_structured(); });
    out += "[";
    for (size_t i = 0; i < array->size(); ++i) {
      if (i > 0) out += indent < 0 || nested ? "," : ", ";
      if (nested) line(inner);
      write((*array)[i], sorted, inner, out);
    }
    if (nested) line(indent);
    out += "]";
  } else if (value.is_double()) {
    out += number(value.get_double());
  } else if (value.is_int64()) {
    out += std::to_string(value.get_int64());
  } else if (const auto* text = value.if_string()) {
    out += json_string(*text);
  } else {
    out += json::serialize(value);
  }
}

std::string kind_name(const Json& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "true or false";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "a list";
    case json::kind::object:
      return "an object";
    default:
      return "a number";
  }
}

[[noreturn]] void wrong_kind(const std::string& where, const char* wanted, const Json& value) {
  throw Error(where, std::string("must be ") + wanted + ", is " + kind_name(value));
}

int64_t whole_number(const Json& value, const std::string& where) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_double() && value.get_double() == std::floor(value.get_double()) &&
      std::abs(value.get_double()) < 9e15) {
    return static_cast<int64_t>(value.get_double());
  }
  if (!value.is_number()) wrong_kind(where, "a whole number", value);
  throw Error(where, "must be a whole number, is " + canonical(value));
}

}  // namespace

Json parse_json(std::string_view text, const std::string& origin) {
  // What editors on other systems write, and no parser names.
  if (text.starts_with("\xEF\xBB\xBF")) {
    throw Error(origin,
                "begins with a byte order mark, which is no JSON; save it as UTF-8 without one");
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    throw Error(origin, "is text in UTF-16; save it as UTF-8");
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    throw Error(origin, "is empty; there is no JSON in it");
  json::basic_parser<Builder> parser({}, origin);
  json::error_code code;
  const size_t used = parser.write_some(false, text.data(), text.size(), code);
  if (!code && text.substr(used).find_first_not_of(" \t\r\n") != std::string_view::npos) {
    code = json::error::extra_data;
  }
  if (code) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + std::min(used, text.size()), '\n');
    throw Error(origin + ", line " + std::to_string(line), "is not valid JSON: " + code.message());
  }
  return parser.handler().take();
}

Json read_json(const std::filesystem::path& file) {
  return parse_json(read_file(file), file.string());
}

void for_each_json_line(const std::filesystem::path& file,
                        const std::function<void(const Json&, const std::string& where)>& visit) {
  const std::string text = read_file(file);
  int64_t number = 0;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    const std::string where = file.string() + ", line " + std::to_string(++number);
    visit(parse_json(std::string_view(text).substr(begin, end - begin), where), where);
  }
}

std::string canonical(const Json& value) {
  std::string out;
  write(value, true, -1, out);
  return out;
}

std::string pretty(const Json& value) {
  std::string out;
  write(value, false, 0, out);
  return out + "\n";
}

double json_number(const Json& value, const std::string& where) {
  if (value.is_double()) return value.get_double();
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (const auto* text = value.if_string();
      text && (*text == "NaN" || *text == "Infinity" || *text == "-Infinity")) {
    return parse_number(std::string_view(text->data(), text->size()), where);
  }
  wrong_kind(where, "a number", value);
}

Fields::Fields(const Json& value, std::string where)
    : object_(value.if_object()), where_(std::move(where)) {
  if (object_ == nullptr) wrong_kind(where_, "an object", value);
}

bool Fields::has(std::string_view key) { return find(key) != nullptr; }

std::string Fields::where(std::string_view key) const { return join(where_, key); }

const Json* Fields::find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  return object_->if_contains(key);
}

const Json& Fields::any(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) throw Error(where(key), "is missing; add this key");
  return *value;
}

std::string Fields::text(std::string_view key) {
  const Json& value = any(key);
  if (!value.is_string()) wrong_kind(where(key), "a string", value);
  return std::string(value.get_string());
}

std::string Fields::text(std::string_view key, std::string_view fallback) {
  return find(key) ? text(key) : std::string(fallback);
}

double Fields::number(std::string_view key) { return json_number(any(key), where(key)); }

double Fields::number(std::string_view key, double fallback) {
  return find(key) ? number(key) : fallback;
}

int64_t Fields::integer(std::string_view key) { return whole_number(any(key), where(key)); }

int64_t Fields::integer(std::string_view key, int64_t fallback) {
  return find(key) ? integer(key) : fallback;
}

bool Fields::boolean(std::string_view key) {
  const Json& value = any(key);
  if (!value.is_bool()) wrong_kind(where(key), "true or false", value);
  return value.get_bool();
}

bool Fields::boolean(std::string_view key, bool fallback) {
  return find(key) ? boolean(key) : fallback;
}

const JsonArray& Fields::array(std::string_view key) {
  const Json& value = any(key);
  if (!value.is_array()) wrong_kind(where(key), "a list", value);
  return value.get_array();
}

std::vector<int64_t> Fields::integers(std::string_view key) {
  std::vector<int64_t> numbers;
  for (const Json& value : array(key)) {
    numbers.push_back(whole_number(value, where(key) + "[" + std::to_string(numbers.size()) + "]"));
  }
  return numbers;
}

std::vector<std::string> Fields::texts(std::string_view key) {
  std::vector<std::string> texts;
  for (const Json& value : array(key)) {
    if (!value.is_string()) {
      wrong_kind(where(key) + "[" + std::to_string(texts.size()) + "]", "a string", value);
    }
    texts.emplace_back(value.get_string());
  }
  return texts;
}

void Fields::finish() {
  for (const auto& field : *object_) {
    const std::string_view key(field.key().data(), field.key().size());
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    std::string text = "is not a known key";
    if (const std::string nearest = nearest_name(key, known_); !nearest.empty()) {
      text += "; did you mean '" + nearest + "'?";
    } else {
      text += "; known here:";
      for (const auto& known : known_) text += " " + known;
    }
    throw Error(where(key), text);
  }
}

void require_at_least(double value, double low, const std::string& where) {
  if (!(value >= low)) {
    throw Error(where, "must be at least " + number_text(low) + ", is " + number_text(value));
  }
}

void require_above(double value, double low, const std::string& where) {
  if (!(value > low))
    throw Error(where, "must be above " + number_text(low) + ", is " + number_text(value));
}

void require_between(double value, double low, double high, const std::string& where) {
  if (!(value >= low && value <= high)) {
    throw Error(where, "must lie between " + number_text(low) + " and " + number_text(high) +
                           ", is " + number_text(value));
  }
}

void require_one_of(std::string_view value, const std::vector<std::string>& choices,
                    const std::string& where) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  std::string text = "'" + std::string(value) + "' is not known; choose one of:";
  for (const auto& choice : choices) text += " " + choice;
  throw Error(where, text);
}

}  // namespace draftlab
