#include "reports/text/words.h"

#include <cmath>

#include "base/number_text.h"

namespace draftlab {

std::string signed_text(double value, int decimals) {
  if (std::isnan(value)) return "NaN";
  const std::string digits = fixed(std::abs(value), decimals);
  if (digits.find_first_not_of("0.") == std::string::npos) return digits;
  return (value < 0 ? "\xE2\x88\x92" : "+") + digits;
}

std::string interval_text(double low, double high, int decimals) {
  const auto bound = [&](double value) {
    const std::string text = signed_text(value, decimals);
    return text.starts_with('+') ? text.substr(1) : text;
  };
  return bound(low) + " to " + bound(high);
}

std::string joined(std::vector<std::string> words) {
  constexpr size_t kMost = 8;
  if (words.size() > kMost) {
    const std::string more = grouped(static_cast<long long>(words.size() - kMost + 2)) + " more";
    words.resize(kMost - 2);
    words.push_back(more);
  }
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

std::string counted(int64_t n, const std::string& noun) {
  return grouped(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] += 'A' - 'a';
  return text;
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return number_text(seconds) + " s";
  if (seconds < 10) return significant(seconds, 2) + " s";
  if (seconds < 100) return fixed(seconds, 1) + " s";
  return grouped(std::llround(seconds)) + " s";
}

}  // namespace draftlab
