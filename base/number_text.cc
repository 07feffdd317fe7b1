#include "base/number_text.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace draftlab {
namespace {

std::string not_finite_text(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

template <typename... Format>
std::string to_text(double value, Format... format) {
  if (!std::isfinite(value)) return not_finite_text(value);
  char buffer[512];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, format...);
  return std::string(buffer, result.ptr);
}

}  // namespace

std::string number_text(double value) { return to_text(value); }

std::string significant(double value, int digits) {
  if (!std::isfinite(value) || value == 0) return to_text(value);
  // Round in scientific notation, then print the rounded value without an exponent where short.
  const std::string rounded = to_text(value, std::chars_format::scientific, digits - 1);
  const double kept = parse_number(rounded, "significant");
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(kept))));
  if (exponent < -5 || exponent > 9) return to_text(kept);
  return to_text(kept, std::chars_format::fixed, std::max(0, digits - 1 - exponent));
}

std::string fixed(double value, int decimals) {
  return to_text(value, std::chars_format::fixed, decimals);
}

double parse_number(std::string_view text, const std::string& where) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    throw Error(where, "'" + std::string(text) + "' is not a number");
  }
  return value;
}

std::string grouped(long long value) {
  std::string text = std::to_string(value < 0 ? -value : value);
  for (int i = static_cast<int>(text.size()) - 3; i > 0; i -= 3) text.insert(i, 1, ',');
  return value < 0 ? "-" + text : text;
}

}  // namespace draftlab
