#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace draftlab {

using Json = boost::json::value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;

// Strict JSON on top of Boost.JSON's parser: a duplicate key is an error, every double reads back
// exactly (from_chars), 1e999 is an error. Errors name `origin` (a file), the line, and the key's
// path.
Json parse_json(std::string_view text, const std::string& origin);
Json read_json(const std::filesystem::path& file);

// Calls visit(value, where) for each line of a log of JSON values; `where` is "FILE, line N". A
// torn last line (a kill in the middle of a write) is not a line.
void for_each_json_line(const std::filesystem::path& file,
                        const std::function<void(const Json&, const std::string& where)>& visit);

// One text per value: keys sorted, no spaces, shortest numbers (3.0 and 3 both give "3").
// Not-finite numbers become the strings "NaN", "Infinity", "-Infinity". Ids are hashes of this
// text.
std::string canonical(const Json& value);

// The same with two-space indentation and keys in their own order, for files people read.
std::string pretty(const Json& value);

// A number, or one of the strings that stand for a not-finite one.
double json_number(const Json& value, const std::string& where);

// Reads one JSON object strictly: each key once, of its type; finish() refuses keys nobody asked
// for and suggests the nearest known one. `where` is the prefix of every error ("sweep.json:
// arms[0]").
class Fields {
 public:
  Fields(const Json& value, std::string where);
  // Not copyable: it remembers which keys were read.
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  bool has(std::string_view key);  // a key asked for is a known one
  const std::string& where() const { return where_; }
  std::string where(std::string_view key) const;  // "sweep.json: arms[0].optimizer"

  // The value of a key; throws Error if the key is missing (no fallback) or of another type.
  const Json& any(std::string_view key);
  std::string text(std::string_view key);
  std::string text(std::string_view key, std::string_view fallback);
  double number(std::string_view key);
  double number(std::string_view key, double fallback);
  int64_t integer(std::string_view key);
  int64_t integer(std::string_view key, int64_t fallback);
  bool boolean(std::string_view key);
  bool boolean(std::string_view key, bool fallback);
  const JsonArray& array(std::string_view key);
  std::vector<int64_t> integers(std::string_view key);  // an array of whole numbers
  std::vector<std::string> texts(std::string_view key);

  // Throws Error for the first key that nobody read.
  void finish();

 private:
  const Json* find(std::string_view key);

  const JsonObject* object_;
  std::string where_;
  std::vector<std::string> known_;
};

// Throws Error "where: must be at least LOW, is VALUE" and the like.
void require_at_least(double value, double low, const std::string& where);
void require_above(double value, double low, const std::string& where);
void require_between(double value, double low, double high, const std::string& where);
// Throws Error listing the choices, unless `value` is one of them.
void require_one_of(std::string_view value, const std::vector<std::string>& choices,
                    const std::string& where);

}  // namespace draftlab
