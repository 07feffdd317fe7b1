#include "kernels/quintic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"

namespace draftlab {
namespace {

using Table = std::vector<Quintic>;

Table divided(Table table, double factor) {
  for (Quintic& p : table) {
    p.a /= factor;
    p.b /= std::pow(factor, 3);
    p.c /= std::pow(factor, 5);
  }
  return table;
}

const std::map<std::string, Table>& tables() {
  static const std::map<std::string, Table> tables = [] {
    const Quintic kj = {3.4445, -4.7750, 2.0315};
    std::map<std::string, Table> t;
    t["kj5"] = {kj};
    t["you5"] = {{4.0848, -6.8946, 2.9270},
                 {3.9505, -6.3029, 2.6377},
                 {3.7418, -5.5913, 2.3037},
                 {2.8769, -3.1427, 1.2046},
                 {2.8366, -3.0525, 1.2012}};
    t["aol4"] = {{4.6051, -9.6552, 5.6769},
                 {4.7505, -6.0861, 2.1790},
                 {2.7763, -2.3190, 0.5523},
                 {2.4231, -2.2861, 0.8193}};
    const Table paper = polar_express_quintics(1e-3, 8, 0, 0.02407327424182761);
    t["pe5_gns"] = divided({paper.begin(), paper.begin() + 5}, 1.05);
    t["cans5"] = {{8.4703, -25.1081, 18.6293},
                  {4.1828, -3.1087, 0.5806},
                  {3.9619, -2.9541, 0.5630},
                  {3.2866, -2.4647, 0.5074},
                  {2.2737, -1.6447, 0.4162}};
    t["dsv4_10"] = Table(8, kj);
    t["dsv4_10"].insert(t["dsv4_10"].end(), 2, {2, -1.5, 0.5});
    t["cubic5"] = {{3.3656576, -3.3420992, 0},
                   {2.5744352, -1.4957376, 0},
                   {2.5368962, -1.4312570, 0},
                   {2.4418906, -1.2764040, 0},
                   {2.2230472, -0.9630650, 0}};
    t["classic3"] = {{3. / 2, -1. / 2, 0}};
    t["classic5"] = {{15. / 8, -10. / 8, 3. / 8}};
    return t;
  }();
  return tables;
}

// The odd quintic p on [l, 1] whose largest |1 - p| is smallest: at four points l < q < r < 1 the
// error has one size and alternating signs (Remez).
Quintic best_quintic(double l) {
  double q = (3 * l + 1) / 4, r = (l + 3) / 4, error = std::numeric_limits<double>::infinity();
  for (int iteration = 0; iteration < 1000; ++iteration) {
    // a x + b x^3 + c x^5 +- e = 1 at the four points, by Gaussian elimination with pivoting.
    std::array<std::array<double, 5>, 4> rows;
    const double points[] = {l, q, r, 1};
    for (int i = 0; i < 4; ++i) {
      const double x = points[i];
      rows[i] = {x, x * x * x, x * x * x * x * x, i % 2 == 0 ? 1. : -1., 1};
    }
    for (int i = 0; i < 4; ++i) {
      const auto larger = [i](const auto& x, const auto& y) {
        return std::abs(x[i]) < std::abs(y[i]);
      };
      std::swap(rows[i], *std::max_element(rows.begin() + i, rows.end(), larger));
      for (int j = 0; j < 4; ++j) {
        if (j == i) continue;
        const double factor = rows[j][i] / rows[i][i];
        for (int k = i; k < 5; ++k) rows[j][k] -= factor * rows[i][k];
      }
    }
    const Quintic p = {rows[0][4] / rows[0][0], rows[1][4] / rows[1][1], rows[2][4] / rows[2][2]};
    const double e = rows[3][4] / rows[3][3];
    if (std::abs(e - error) <= 1e-15) return p;
    error = e;
    const double root = std::sqrt(9 * p.b * p.b - 20 * p.a * p.c);  // where p' = 0
    q = std::sqrt((-3 * p.b - root) / (10 * p.c));
    r = std::sqrt((-3 * p.b + root) / (10 * p.c));
  }
  throw Error("polar_express", "Remez' algorithm does not converge for the interval from " +
                                   std::to_string(l) +
                                   " to 1; take another lower bound or cushion");
}

Quintic rescaled(const Quintic& p, double argument) {  // p(argument x)
  return {p.a * argument, p.b * std::pow(argument, 3), p.c * std::pow(argument, 5)};
}

}  // namespace

const Quintic& quintic(const std::vector<Quintic>& table, int64_t k) {
  return table[std::min<int64_t>(k, static_cast<int64_t>(table.size()) - 1)];
}

const std::vector<Quintic>& quintic_table(const std::string& name) {
  const auto found = tables().find(name);
  if (found == tables().end()) {
    std::string known;
    for (const std::string& other : quintic_table_names()) known += " " + other;
    throw Error("quintic table '" + name + "'", "is unknown; take one of" + known);
  }
  return found->second;
}

std::vector<std::string> quintic_table_names() {
  std::vector<std::string> names;
  for (const auto& [name, table] : tables()) names.push_back(name);
  return names;
}

std::vector<Quintic> polar_express_quintics(double lower_bound, int64_t steps, double safety,
                                            double cushion) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) throw Error("polar_express", what);
  };
  require(lower_bound > 0 && lower_bound < 1, "lower_bound must lie between 0 and 1");
  require(steps >= 1, "needs 1 step or more");
  require(safety >= 0 && std::isfinite(safety), "safety must be 0 or more");
  require(cushion > 0 && cushion < 1, "cushion must lie between 0 and 1");
  std::vector<Quintic> table;
  double l = lower_bound, u = 1;  // where the singular values are now
  for (int64_t k = 0; k < steps; ++k) {
    const double narrowed = std::max(l, cushion * u) / u;
    // So close to 1 the best quintic is the Taylor polynomial, up to rounding.
    Quintic p = narrowed >= 1 - 5e-6 ? Quintic{15. / 8, -10. / 8, 3. / 8} : best_quintic(narrowed);
    p = rescaled(p, 1 / u);
    if (cushion * u > l) {
      const double centre = 2 / (p(l) + p(u));
      p = {p.a * centre, p.b * centre, p.c * centre};
    }
    // The interval goes on from the shrunk polynomial, except that the last one is not shrunk.
    if (k + 1 < steps) p = rescaled(p, 1 / (1 + safety));
    table.push_back(p);
    l = p(l);
    u = 2 - l;
  }
  return table;
}

}  // namespace draftlab
