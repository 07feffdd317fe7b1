#include "reports/text/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/number_text.h"

namespace draftlab {

std::string csv_field(std::string_view text) {
  std::string field;
  add_csv_field(text, field);
  return field;
}

void add_csv_field(std::string_view text, std::string& out) {
  // A spreadsheet would run it as a formula.
  const bool formula = !text.empty() && std::string_view("=+-@\t\r'").find(text[0]) != text.npos;
  const bool plain = std::ranges::none_of(
      text, [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; });
  if (plain) {
    if (formula) out += '\'';
    out += text;
    return;
  }
  out += '"';
  if (formula) out += '\'';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void add_csv_field(double number, std::string& out) {
  if (!std::isfinite(number)) {
    out += number_text(number);
    return;
  }
  char buffer[32];  // as number_text, without a string of its own: tables hold millions of numbers
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

void add_csv_field(int64_t number, std::string& out) {
  char buffer[32];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

}  // namespace draftlab
