#include "reports/stats/decimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace draftlab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool same(const Point& a, const Point& b) {
  return a.x == b.x && (a.y == b.y || (std::isnan(a.y) && std::isnan(b.y)));
}

// Noise around a slope, at uneven distances, with a stretch of NaN here and there.
std::vector<Point> noisy_curve(uint64_t seed, size_t n, size_t gaps) {
  Random random(seed, "curve");
  std::vector<Point> points;
  double x = 0;
  for (size_t i = 0; i < n; ++i) {
    x += 0.1 + random.uniform();
    points.push_back({x, 1e-2 * x + random.uniform()});
  }
  for (size_t g = 0; g < gaps; ++g) {
    const size_t from = random.below(n), length = 1 + random.below(20);
    for (size_t i = from; i < std::min(n, from + length); ++i) points[i].y = kNaN;
  }
  return points;
}

std::vector<std::vector<Point>> stretches(const std::vector<Point>& points) {
  std::vector<std::vector<Point>> all;
  bool open = false;
  for (const Point& point : points) {
    if (!std::isfinite(point.y)) {
      open = false;
      continue;
    }
    if (!open) all.emplace_back();
    open = true;
    all.back().push_back(point);
  }
  return all;
}

struct Case {
  std::vector<Point> points;
  size_t bins;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    all.push_back({noisy_curve(seed, 500 + 37 * seed, seed % 5), 10 + 3 * (seed % 20)});
  }
  return all;
}

TEST(Decimated, IsASubsequence) {
  for (const auto& [points, bins] : cases()) {
    auto at = points.begin();
    for (const Point& kept : decimated(points, bins)) {
      at = std::find_if(at, points.end(), [&](const Point& point) { return same(point, kept); });
      ASSERT_NE(at, points.end());
      ++at;
    }
  }
}

TEST(Decimated, KeepsTheEndsOfEveryStretchAndTheirNumber) {
  for (const auto& [points, bins] : cases()) {
    const auto before = stretches(points), after = stretches(decimated(points, bins));
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_TRUE(same(before[i].front(), after[i].front()));
      EXPECT_TRUE(same(before[i].back(), after[i].back()));
    }
  }
}

TEST(Decimated, KeepsLowestAndHighestOfEveryColumn) {
  for (const auto& [points, bins] : cases()) {
    const auto kept = decimated(points, bins);
    const auto finite = [](const Point& point) { return std::isfinite(point.y); };
    const double start = std::find_if(points.begin(), points.end(), finite)->x;
    const double end = std::find_if(points.rbegin(), points.rend(), finite)->x;
    for (size_t bin = 0; bin < bins; ++bin) {
      const auto range = [&, bins = bins](const std::vector<Point>& all) {
        double low = INFINITY, high = -INFINITY;
        for (const Point& point : all) {
          const double width = (end - start) / static_cast<double>(bins);
          const size_t column = std::min(bins - 1, static_cast<size_t>((point.x - start) / width));
          if (column != bin || !finite(point)) continue;
          low = std::min(low, point.y);
          high = std::max(high, point.y);
        }
        return std::make_pair(low, high);
      };
      EXPECT_EQ(range(points), range(kept));
    }
  }
}

TEST(Decimated, HasNoMoreThanFourPointsAColumnAndFiveForEachGap) {
  for (const auto& [points, bins] : cases()) {
    EXPECT_LE(decimated(points, bins).size(), 4 * bins + 5 * stretches(points).size());
  }
}

TEST(Decimated, OfItselfIsItself) {
  for (const auto& [points, bins] : cases()) {
    const auto once = decimated(points, bins), twice = decimated(once, bins);
    ASSERT_EQ(once.size(), twice.size());
    EXPECT_TRUE(std::equal(once.begin(), once.end(), twice.begin(), same));
  }
}

TEST(Decimated, LeavesShortCurvesAlone) {
  const auto points = noisy_curve(1, 100, 2);
  const auto kept = decimated(points, 50);
  ASSERT_EQ(kept.size(), points.size());
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), points.begin(), same));
  EXPECT_TRUE(decimated({}, 50).empty());
}

TEST(Decimated, WithoutAnyNumberOneGapIsLeft) {
  EXPECT_EQ(decimated(std::vector<Point>(100, {1, kNaN}), 10).size(), 1u);
}

TEST(Decimated, ManyPointsAtOnePlaceKeepTheirExtremes) {
  std::vector<Point> points;
  for (int i = 0; i < 100; ++i) points.push_back({1, static_cast<double>((i * 7) % 50)});
  const auto kept = decimated(points, 10);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].y, 0);   // the first, and the lowest
  EXPECT_EQ(kept[1].y, 49);  // the highest
}

}  // namespace
}  // namespace draftlab
