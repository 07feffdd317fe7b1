#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace draftlab {

// A stream of random numbers that is a pure function of (seed, name, index): the same on every
// machine, whatever ran before. SplitMix64 (Steele et al. 2014) from a hashed start.
class Random {
 public:
  Random(uint64_t seed, std::string_view name, uint64_t index = 0);
  uint64_t next();
  // Uniform in [0, 1), 53 bits.
  double uniform();
  // Uniform in 0 .. bound-1 without bias. REQUIRES: bound > 0.
  uint64_t below(uint64_t bound);
  // Standard normal, Box-Muller in float64.
  double normal();

 private:
  uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

// 0 .. size-1 in random order (Fisher-Yates).
std::vector<int64_t> permutation(int64_t size, Random random);

}  // namespace draftlab
