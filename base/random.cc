#include "base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace draftlab {

Random::Random(uint64_t seed, std::string_view name, uint64_t index) {
  // FNV-1a over everything that names the stream; SplitMix64 scatters neighbouring starts.
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (int shift = 0; shift < 64; shift += 8) mix((seed >> shift) & 255);
  for (char c : name) mix(static_cast<unsigned char>(c));
  for (int shift = 0; shift < 64; shift += 8) mix((index >> shift) & 255);
  state_ = hash;
  state_ = next();
}

uint64_t Random::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

uint64_t Random::below(uint64_t bound) {
  const uint64_t limit =
      -bound % bound;  // 2^64 mod bound: values below it would favour small results
  while (true) {
    const uint64_t value = next();
    if (value >= limit) return value % bound;
  }
}

double Random::normal() {
  if (std::exchange(has_spare_, false)) return spare_;
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

std::vector<int64_t> permutation(int64_t size, Random random) {
  std::vector<int64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = size - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

}  // namespace draftlab
