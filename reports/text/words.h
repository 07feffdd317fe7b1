#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace draftlab {

// "+0.118", "−0.020" with a real minus sign.
std::string signed_text(double value, int decimals);
std::string interval_text(double low, double high, int decimals);  // "0.082 to 0.154"
// "A", "A and B", "A, B and C", of more than eight "A, B, C, D, E, F and 3 more"; and "A; B; C".
std::string joined(std::vector<std::string> words);
std::string listed(const std::vector<std::string>& parts);
// "1 seed", "3 seeds"
std::string counted(int64_t n, const std::string& noun);
std::string capitalized(std::string text);
std::string seconds_text(double seconds);

}  // namespace draftlab
