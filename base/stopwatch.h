#pragma once

#include <chrono>

namespace draftlab {

// Splits time into laps.
class Stopwatch {
 public:
  // Seconds since construction or the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    begin_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace draftlab
