#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/page/sections.h"
#include "reports/study/curve.h"
#include "reports/study/step_size.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

// Of weights or of mean gradients.
struct Matrices {
  std::string id, title, text;
  std::vector<double> UpdateRow::*spectrum;
  double UpdateRow::*stable_rank;
};

const Matrices kWeights = {"weights", "weights", "the weights", &UpdateRow::weight_spectrum,
                           &UpdateRow::weight_stable_rank};
const Matrices kMomentum = {"momentum", "momentum", "the mean gradients",
                            &UpdateRow::momentum_spectrum, &UpdateRow::momentum_stable_rank};

// The row of a kind where the run ends; null where it has no such spectrum.
const UpdateRow* end_of(const Result& run, const std::string& kind, const Matrices& matrices) {
  const auto row = std::ranges::find_if(run.updates, [&](const UpdateRow& each) {
    return each.kind == kind && !(each.*matrices.spectrum).empty();
  });
  return row == run.updates.end() ? nullptr : &*row;
}

// Singular values over the largest, against the percentage of them that are no larger.
std::vector<Point> shape_of(const std::vector<double>& spectrum) {
  std::vector<Point> points;
  for (size_t i = 0; i < spectrum.size(); ++i) {
    points.push_back({100 * static_cast<double>(i) / static_cast<double>(spectrum.size() - 1),
                      spectrum[i] / spectrum.back()});
  }
  return points;
}

std::string charts(const Summary& summary, const Matrices& matrices) {
  std::string html;
  int64_t number = 0;
  for (const std::string& kind : matrix_kinds(summary)) {
    LineChart chart;
    chart.text = {"spectrum-" + matrices.id + "-" + std::to_string(++number),
                  kind,
                  "Singular values of " + matrices.text + " of the layers " + kind +
                      " where training ends, over the largest, from the least to the largest, for "
                      "the chosen setting of each arm.",
                  "% of the singular values",
                  "",
                  "updates.csv"};
    chart.small = true;
    chart.y_covers = {0, 1};
    for (const Arm& arm : summary.arms) {
      if (arm.chosen() == nullptr || arm.copy_of) continue;
      std::vector<std::vector<Point>> curves;
      for (const Result* run : arm.chosen()->finished) {
        const UpdateRow* row = end_of(*run, kind, matrices);
        if (row != nullptr) curves.push_back(shape_of(row->*matrices.spectrum));
      }
      Series series{arm.look, arm.name, mean_at_common_x(curves)};
      if (!series.points.empty()) chart.series.push_back(std::move(series));
    }
    if (!chart.series.empty()) html += figure(chart);
  }
  return html.empty() ? "" : "<div class=\"many\">\n" + html + "</div>\n";
}

// Mean over the finished seeds of an arm; NaN where none has a number.
double stable_rank(const Arm& arm, const std::string& kind, const Matrices& matrices) {
  std::vector<double> ranks;
  for (const Result* run : arm.chosen()->finished) {
    const UpdateRow* row = end_of(*run, kind, matrices);
    if (row != nullptr) ranks.push_back(row->*matrices.stable_rank);
  }
  return estimate(ranks).mean;
}

std::string stable_ranks(const Summary& summary) {
  const std::vector<std::string> kinds = matrix_kinds(summary);
  std::vector<std::string> head = {"arm"};
  for (const std::string& kind : kinds) head.push_back(escape(kind));
  HtmlTable table(head);
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr || arm.copy_of) continue;
    std::vector<std::string> cells = {look_sample(arm.look) + " " + escape(arm.name)};
    for (const std::string& kind : kinds) {
      const double weights = stable_rank(arm, kind, kWeights);
      const double momentum = stable_rank(arm, kind, kMomentum);
      cells.push_back((std::isnan(weights) ? "–" : significant(weights, 3)) + "<small>" +
                      (std::isnan(momentum) ? "–" : significant(momentum, 3)) + "</small>");
    }
    table.row(cells);
  }
  return table.html();
}

}  // namespace

std::string dead_tensors(const Summary& summary) {
  std::vector<std::string> parts;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr || arm.copy_of) continue;
    for (const DeadKind& dead : dead_kinds(arm.chosen()->finished)) {
      parts.push_back("<code>" + escape(dead.kind) + "</code> of " + escape(arm.name) +
                      (dead.share > 0 ? " (by " + significant(100 * dead.share, 2) + " %)"
                                      : std::string(" (not at all)")));
    }
  }
  if (parts.empty()) return "";
  return paragraph(
      "<strong>Dead tensors</strong>: " + joined(parts) +
      ". So far do updates move them, relative to their size, of what they move the "
      "median kind of layer of the same arm; below a hundredth a kind is called dead.");
}

std::string spectra(const Summary& summary) {
  const std::string weights = charts(summary, kWeights);
  if (weights.empty()) return "";
  std::string html = "<h3>Spectra where training ends</h3>\n" + weights;
  const std::string momentum = charts(summary, kMomentum);
  if (!momentum.empty()) html += details("Spectra of the mean gradients", momentum, "figures");
  html += stable_ranks(summary);
  html += paragraph(
      "Charts: singular values of the first matrix of each kind over its largest, from the least "
      "to "
      "the largest, read at the quartiles. Table: stable rank of the weights, the sum of the "
      "squared "
      "singular values over the largest square, and below it that of the mean gradient: 1 where "
      "one "
      "direction holds everything, the smaller side of the matrix where all count alike. Means "
      "over "
      "the finished seeds.",
      "note");
  return html;
}

}  // namespace draftlab
