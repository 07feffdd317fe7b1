#include "reports/stats/decimate.h"

#include <algorithm>
#include <cmath>

namespace draftlab {
namespace {

bool finite(const Point& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

// The first, last, lowest and highest of points[from, to), in their order.
void keep(const std::vector<Point>& points, size_t from, size_t to, std::vector<Point>& kept) {
  size_t lowest = from, highest = from;
  for (size_t i = from; i < to; ++i) {
    if (points[i].y < points[lowest].y) lowest = i;
    if (points[i].y > points[highest].y) highest = i;
  }
  size_t chosen[] = {from, std::min(lowest, highest), std::max(lowest, highest), to - 1};
  const auto end = std::unique(std::begin(chosen), std::end(chosen));
  for (auto i = std::begin(chosen); i != end; ++i) kept.push_back(points[*i]);
}

}  // namespace

std::vector<Point> decimated(const std::vector<Point>& points, size_t bins) {
  if (points.size() <= 2 * bins) return points;
  const auto first = std::find_if(points.begin(), points.end(), finite);
  if (first == points.end()) return {points.front()};
  const auto last = std::find_if(points.rbegin(), points.rend(), finite);
  const double start = first->x, width = (last->x - start) / static_cast<double>(bins);
  const auto bin_of = [&](const Point& point) {
    return width > 0 ? std::min(bins - 1, static_cast<size_t>((point.x - start) / width)) : 0;
  };

  std::vector<Point> kept;
  for (size_t from = 0, to; from < points.size(); from = to) {
    to = from + 1;
    if (!finite(points[from])) {
      while (to < points.size() && !finite(points[to])) ++to;
      kept.push_back(points[from]);
      continue;
    }
    const size_t bin = bin_of(points[from]);
    while (to < points.size() && finite(points[to]) && bin_of(points[to]) == bin) ++to;
    keep(points, from, to, kept);
  }
  return kept;
}

}  // namespace draftlab
