// Two swept options together, of each arm that swept two.
#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "record/option.h"
#include "reports/page/sections.h"
#include "reports/study/option_surface.h"
#include "reports/text/html.h"

namespace draftlab {
namespace {

constexpr int kShades = 5;

// 0 for the worst to kShades - 1 for the best; -1 of a NaN.
int shade(double value, double low, double high, bool lower_is_better) {
  if (std::isnan(value)) return -1;
  double share = high > low ? (value - low) / (high - low) : 1;
  if (lower_is_better && high > low) share = 1 - share;
  return std::min(kShades - 1, static_cast<int>(share * kShades));
}

std::string surface_table(const OptionSurface& surface, const MeasureKind& kind) {
  double low = INFINITY, high = -INFINITY;
  for (const auto& row : surface.values) {
    for (const double value : row) {
      if (std::isnan(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  std::vector<std::string> head = {escape(surface.row_key) + " \\ " + escape(surface.column_key)};
  for (const Json& column : surface.columns) head.push_back(escape(option_text(column)));
  HtmlTable table(head);
  for (size_t i = 0; i < surface.rows.size(); ++i) {
    std::vector<std::string> cells = {escape(option_text(surface.rows[i]))};
    for (const double value : surface.values[i]) {
      const int level = shade(value, low, high, kind.lower_is_better);
      cells.push_back(level < 0 ? "–"
                                : "<span class=\"shade s" + std::to_string(level) + "\">" +
                                      fixed(value, kind.decimals) + "</span>");
    }
    table.row(cells);
  }
  return table.html();
}

std::string worth(const std::string& key, double spread, const MeasureKind& kind) {
  return escape(key) + (std::isnan(spread) ? ": not known" : " " + fixed(spread, kind.decimals));
}

}  // namespace

std::string option_surfaces(const Study& study) {
  const MeasureKind& kind = kind_of(study.summary.chosen_by);
  std::string html;
  for (const Arm& arm : study.summary.arms) {
    const auto surface = option_surface(arm, study.summary.chosen_by);
    if (!surface) continue;
    html += "<h3>" + escape(arm.name) + ", by two options</h3>\n" + surface_table(*surface, kind) +
            paragraph("What choosing well was worth, the other option at its best: " +
                          worth(surface->column_key, surface->column_spread, kind) + ", " +
                          worth(surface->row_key, surface->row_spread, kind) + ".",
                      "note");
  }
  if (html.empty()) return html;
  return html + paragraph("Mean " + kind.name +
                              " on the sequences that chose the settings, the best "
                              "over all other options; the stronger the shade, the better.",
                          "note");
}

}  // namespace draftlab
