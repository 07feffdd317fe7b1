#include "reports/charts/axis.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "reports/charts/label.h"

namespace draftlab {
namespace {

// 1, 2, 2.5 or 5 times a power of ten, so that `span` has at most `most` of them.
double round_step(double span, int most) {
  const double rough = span / most;
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * decade >= rough * (1 - 1e-9)) return factor * decade;
  }
  return 10 * decade;
}

int decimals_of(double step) {
  for (int decimals = 0; decimals < 12; ++decimals) {
    const double scaled = step * std::pow(10, decimals);
    if (std::abs(scaled - std::round(scaled)) < 1e-6 * scaled) return decimals;
  }
  return 12;
}

// A real minus sign, as in every text of a page; an exponent's stays.
std::string with_minus(std::string text) {
  if (text.starts_with('-')) text.replace(0, 1, "−");
  return text;
}

std::string tick_label(double value, int decimals) {
  if (value != 0 && (std::abs(value) >= 1e7 || std::abs(value) < 1e-4))
    return significant(value, 3);
  if (decimals == 0) return grouped(std::llround(value));
  return fixed(value, decimals);
}

std::vector<Tick> linear_ticks(double low, double high, int most) {
  const double step = round_step(high - low, most);
  const int decimals = decimals_of(step);
  std::vector<Tick> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    const double value = i == 0 ? 0 : i * step;  // not -0
    ticks.push_back({value, with_minus(tick_label(value, decimals))});
  }
  return ticks;
}

std::vector<Tick> decade_ticks(double low, double high, const std::vector<double>& factors) {
  std::vector<Tick> ticks;
  for (int e = std::floor(std::log10(low)) - 1; e <= std::ceil(std::log10(high)); ++e) {
    for (double factor : factors) {
      const double value = factor * std::pow(10, e);
      if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
      ticks.push_back(
          {value, with_minus(number_text(parse_number(significant(value, 2), "tick")))});
    }
  }
  return ticks;
}

}  // namespace

Axis::Axis(Scale scale, const std::vector<double>& values, double start, double end)
    : scale_(scale), low_(1), high_(0), start_(start), end_(end) {
  for (double value : values) {
    if (!std::isfinite(value) || (scale == Scale::kLog && value <= 0)) continue;
    const bool first = low_ > high_;
    low_ = first ? value : std::min(low_, value);
    high_ = first ? value : std::max(high_, value);
  }
  // What differs by rounding alone is one value: ticks between such numbers have no end.
  const bool one_value = high_ - low_ <= 1e-9 * std::max(std::abs(low_), std::abs(high_));
  if (low_ > high_) {
    low_ = scale == Scale::kLog ? 1 : 0;
    high_ = scale == Scale::kLog ? 10 : 1;
  } else if (scale == Scale::kLog) {
    const double room = one_value ? 1.5 : std::pow(high_ / low_, 0.06);
    low_ /= room;
    high_ *= room;
  } else {
    const double room = one_value ? std::max(std::abs(low_) * 0.1, 1e-9) : (high_ - low_) * 0.06;
    low_ -= room;
    high_ += room;
  }
}

Axis::Axis(Scale scale, double low, double high, double start, double end)
    : scale_(scale), low_(low), high_(high > low ? high : low + 1), start_(start), end_(end) {}

double Axis::place(double value) const { return scale_ == Scale::kLog ? std::log(value) : value; }

double Axis::at(double value) const {
  const double share = (place(value) - place(low_)) / (place(high_) - place(low_));
  return start_ + share * (end_ - start_);
}

bool Axis::shows(double value) const {
  return std::isfinite(value) && value >= low_ && value <= high_;
}

std::vector<Tick> Axis::ticks(int most) const {
  if (scale_ == Scale::kLinear) return linear_ticks(low_, high_, most);
  // Over a short range powers of ten are too few to read a value by.
  if (high_ / low_ < 8) return linear_ticks(low_, high_, most);
  for (const std::vector<double>& factors :
       {std::vector<double>{1, 2, 5}, std::vector<double>{1, 3}, std::vector<double>{1}}) {
    std::vector<Tick> ticks = decade_ticks(low_, high_, factors);
    if (ticks.size() <= static_cast<size_t>(most) || factors.size() == 1) return ticks;
  }
  return {};
}

Tick number_tick(double value) { return {value, with_minus(number_text(value))}; }

std::vector<Tick> without_overlap(const std::vector<Tick>& ticks, const Axis& axis) {
  std::vector<Tick> kept;
  double free_from = -1e9;
  for (const Tick& tick : ticks) {
    const double middle = axis.at(tick.value), half = text_width(tick.label) / 2;
    if (middle - half < free_from) continue;
    kept.push_back(tick);
    free_from = middle + half + 8;
  }
  return kept;
}

}  // namespace draftlab
