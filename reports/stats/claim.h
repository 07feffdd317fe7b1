#pragma once

#include <cstdint>
#include <string>

namespace draftlab {

// When a difference over seeds may be claimed. Verdicts, checks, pillars, notes and charts all
// follow these numbers, and their sentences these words.
inline constexpr int64_t kFewestSeeds = 3;
inline const std::string kFewestSeedsInWords = "three";
inline constexpr double kClaimLevel = 0.05;  // of a p that is adjusted for all comparisons made
inline const std::string kClaimLevelText = "0.05";

// False for a p that is not a number.
inline bool may_be_claimed(int64_t seeds, double adjusted_p) {
  return seeds >= kFewestSeeds && adjusted_p <= kClaimLevel;
}

}  // namespace draftlab
