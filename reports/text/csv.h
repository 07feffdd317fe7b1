#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace draftlab {

// Comma-separated values after RFC 4180: lines end with CR LF, fields with a comma, quote or line
// break are quoted. Text that a spreadsheet would take for a formula, because it begins with = + -
// @, a tab or a carriage return, has an apostrophe before it, and so has text that begins with one:
// what is read is the text without its first apostrophe. Numbers are the shortest text that reads
// back the same, in every locale; "NaN" and "Infinity" are written out; an empty field means that
// there is no such value.

// `text` as one field.
std::string csv_field(std::string_view text);

// Appends one field to `out`.
void add_csv_field(std::string_view text, std::string& out);
void add_csv_field(double number, std::string& out);
void add_csv_field(int64_t number, std::string& out);

// A template, because a pointer to characters would rather become a bool than text.
template <std::same_as<bool> Bool>
void add_csv_field(Bool value, std::string& out) {
  out += value ? "yes" : "no";
}

template <typename Value>
void add_csv_field(const std::optional<Value>& value, std::string& out) {
  if (value) add_csv_field(*value, out);
}

template <typename Row>
struct CsvColumn {
  // `value` is a member of Row or a function of it: text, a number, a bool ("yes", "no"), or an
  // optional of these.
  template <typename Value>
  CsvColumn(std::string name, Value value)
      : name(std::move(name)), add_field([value](const Row& row, std::string& out) {
          add_csv_field(std::invoke(value, row), out);
        }) {}

  std::string name;
  std::function<void(const Row& row, std::string& out)> add_field;
};

// The header and one line for each row. Linear in the size of what is written.
template <typename Row>
std::string csv(const std::vector<CsvColumn<Row>>& columns, const std::vector<Row>& rows) {
  std::string out;
  const auto end_line = [&out] { out.replace(out.size() - 1, 1, "\r\n"); };
  for (const CsvColumn<Row>& column : columns) {
    add_csv_field(column.name, out);
    out += ',';
  }
  end_line();
  constexpr size_t kSample = 256;  // rows that tell how long all will be
  for (const Row& row : rows) {
    if (&row == rows.data() + kSample)
      out.reserve(out.size() / kSample * rows.size() * 9 / 8);  // growing would hold it twice
    for (const CsvColumn<Row>& column : columns) {
      column.add_field(row, out);
      out += ',';
    }
    end_line();
  }
  return out;
}

}  // namespace draftlab
