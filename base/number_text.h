#pragma once

#include <string>
#include <string_view>

namespace draftlab {

// Numbers as text, the same in every locale.

// The shortest text that reads back as the same double: "0.001", "1e-05", "3". Not finite: "NaN",
// "Infinity", "-Infinity".
std::string number_text(double value);

// With `digits` significant digits, for people: significant(1234.5, 3) = "1230", (0.00123456, 3) =
// "0.00123".
std::string significant(double value, int digits);

// With `decimals` digits after the point, for people and aligned columns: "1.40".
std::string fixed(double value, int decimals);

// Reads what number_text writes. Throws Error naming `where` if `text` is not one whole number.
double parse_number(std::string_view text, const std::string& where);

// 1234567 -> "1,234,567"
std::string grouped(long long value);

}  // namespace draftlab
