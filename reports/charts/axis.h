#pragma once

#include <string>
#include <vector>

namespace draftlab {

enum class Scale { kLinear, kLog };

struct Tick {
  double value;
  std::string label;
};
Tick number_tick(double value);  // labelled with the number itself

// Maps numbers to pixels. The ticks are round numbers inside the range.
class Axis {
 public:
  // Covers the finite (and, on a log axis, positive) `values` with a little room on both sides,
  // from pixel `start` to pixel `end`. Without such values the range is 0..1 (log: 1..10).
  Axis(Scale scale, const std::vector<double>& values, double start, double end);
  // Exactly from `low` to `high`.
  Axis(Scale scale, double low, double high, double start, double end);

  double at(double value) const;
  bool shows(double value) const;  // finite and inside the range
  double start() const { return start_; }
  double end() const { return end_; }

  // At most about `most` ticks, as many as needed to read a value (three, if there is room).
  std::vector<Tick> ticks(int most) const;

 private:
  double place(double value) const;  // on the straightened scale

  Scale scale_;
  double low_, high_, start_, end_;
};

// Of `ticks` along a horizontal axis, those whose labels do not touch the one before.
std::vector<Tick> without_overlap(const std::vector<Tick>& ticks, const Axis& axis);

}  // namespace draftlab
