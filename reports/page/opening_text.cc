#include "reports/page/opening_text.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "base/terminal_text.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// What nobody's name can steer a terminal with.
std::string plain(const std::string& text) { return printable(without_controls(text)); }

// The columns that a plot from `low` to `high` has.
struct Plot {
  double low, high;
  size_t width;
  size_t at(double value) const {
    const double place = (value - low) / (high - low) * static_cast<double>(width - 1);
    return static_cast<size_t>(std::clamp(std::lround(place), 0L, static_cast<long>(width) - 1));
  }
};

std::string plot_line(const Plot& plot, const ForestRow& row) {
  std::vector<std::string> cells(plot.width, " ");
  cells[plot.at(0)] = "┆";
  if (std::isfinite(row.low)) {
    const size_t from = plot.at(row.low), to = plot.at(row.high);
    for (size_t i = from; i <= to; ++i) cells[i] = "─";
    cells[from] = "├";
    cells[to] = "┤";
  }
  if (std::isfinite(row.difference)) cells[plot.at(row.difference)] = "●";
  if (row.reference && std::isfinite(row.value)) cells[plot.at(0)] = "●";
  std::string line;
  for (const std::string& cell : cells) line += cell;
  return line;
}

std::string forest_text(const Opening& opening, size_t width) {
  Plot plot{0, 0, 0};
  size_t names = 0, said = 0;
  std::vector<std::string> words;
  for (const ForestRow& row : opening.rows) {
    for (const double x : {row.low, row.high, row.difference}) {
      if (!std::isfinite(x)) continue;
      plot.low = std::min(plot.low, x);
      plot.high = std::max(plot.high, x);
    }
    words.push_back(plain(words_of(row, opening.decimals)));
    names = std::max(names, width_of(plain(row.arm)));
    said = std::max(said, width_of(words.back()));
  }
  if (plot.low == plot.high) plot.high = plot.low + 1;
  names = std::min(names, width / 4);
  said = std::min(said, 2 * width / 5);
  plot.width = width - names - said - 4;
  std::string text;
  for (size_t i = 0; i < opening.rows.size(); ++i) {
    const ForestRow& row = opening.rows[i];
    text += padded(shorten(plain(row.arm), names), names) + "  " + plot_line(plot, row) + "  " +
            shorten(words[i], said) + "\n";
  }
  return text;
}

Json known(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

std::string opening_text(const Opening& opening, size_t width) {
  width = std::max<size_t>(width, 40);
  std::string text = wrapped("", plain(opening.headline), width) + "\n";
  if (opening.rows.size() > 1) {
    text += shorten(plain(capitalized(opening.measure)), width) + "\n";
    text += forest_text(opening, width) + "\n";
  }
  if (!opening.against.empty())
    text += wrapped("", "Speaks against: " + listed(opening.against), width);
  return text + wrapped("",
                        "Checks: " + std::to_string(opening.passed) + " pass, " +
                            std::to_string(opening.informed) + " inform, " +
                            std::to_string(opening.warned) + " warn, " +
                            std::to_string(opening.refused) + " refuse",
                        width);
}

JsonObject to_json(const Opening& opening) {
  JsonArray arms, against(opening.against.begin(), opening.against.end());
  for (const ForestRow& row : opening.rows) {
    arms.push_back(JsonObject{{"arm", row.arm},
                              {"reference", row.reference},
                              {"value", known(row.value)},
                              {"difference", known(row.difference)},
                              {"low", known(row.low)},
                              {"high", known(row.high)},
                              {"claimed", row.claimed},
                              {"verdict", row.said}});
  }
  return {{"headline", opening.headline},
          {"measure", opening.measure},
          {"arms", std::move(arms)},
          {"against", std::move(against)},
          {"checks", JsonObject{{"pass", opening.passed},
                                {"inform", opening.informed},
                                {"warn", opening.warned},
                                {"refuse", opening.refused},
                                {"cannot_happen", opening.excluded}}}};
}

}  // namespace draftlab
