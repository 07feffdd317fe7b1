#include "reports/page/zoom.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/number_text.h"
#include "reports/charts/drawing.h"
#include "reports/stats/claim.h"
#include "reports/stats/decimate.h"
#include "reports/study/curve.h"
#include "reports/text/html.h"
#include "reports/text/look.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

constexpr size_t kMostColumns = 500;

struct ArmCurve {
  const Arm* arm;
  std::vector<CurvePoint> points;
};

std::vector<ArmCurve> curves(const Summary& summary, Measure measure) {
  std::vector<ArmCurve> all;
  for (const Arm& arm : summary.arms) {
    if (arm.chosen() == nullptr) continue;
    all.push_back({&arm, curve_estimates(arm.chosen()->finished, measure, Clock::kSteps)});
  }
  return all;
}

Json rounded(double value) {
  if (!std::isfinite(value)) return "NaN";
  return parse_number(significant(value, 6), "zoom");
}

// Low, mean and high; without an interval the mean thrice.
Json values(const Estimate& y) {
  const bool interval = std::isfinite(y.low) && y.n >= kFewestSeeds;
  return JsonArray{rounded(interval ? y.low : y.mean), rounded(y.mean),
                   rounded(interval ? y.high : y.mean)};
}

JsonArray dashes(size_t look) {
  JsonArray lengths;
  std::istringstream text(dash_pattern(look));
  for (int length; text >> length;) lengths.push_back(length);
  return lengths;
}

// One row for each step at which any arm has a value: the step and for each arm its values, or
// null.
JsonArray rows(const std::vector<ArmCurve>& arms) {
  const size_t columns =
      std::clamp<size_t>(4000 / std::max<size_t>(1, arms.size()), 50, kMostColumns);
  std::map<double, JsonArray> at;
  for (size_t i = 0; i < arms.size(); ++i) {
    std::map<double, const CurvePoint*> point_at;
    for (const CurvePoint& point : arms[i].points) point_at[point.x] = &point;
    for (const Point& point : decimated(means(arms[i].points), columns)) {
      JsonArray& row = at[point.x];
      if (row.empty()) row = JsonArray(1 + arms.size(), Json(nullptr));
      row[0] = point.x;
      row[i + 1] = values(point_at[point.x]->y);
    }
  }
  JsonArray all;
  for (auto& [x, row] : at) all.push_back(std::move(row));
  return all;
}

}  // namespace

std::optional<ZoomLibrary> read_zoom_library(const std::filesystem::path& folder) {
  const std::filesystem::path script = folder / "dygraph.min.js",
                              style = folder / "dygraph.min.css";
  if (!std::filesystem::exists(script) || !std::filesystem::exists(style)) return std::nullopt;
  ZoomLibrary library{read_file(script), read_file(style)};
  // "<!--" changes how a script element is read; the others end it.
  for (const char* end : {"</script", "</SCRIPT", "<!--"}) {
    if (library.script.find(end) != std::string::npos) return std::nullopt;
  }
  if (library.style.find('<') != std::string::npos) return std::nullopt;
  return library;
}

std::string zoom_data(const Study& study) {
  bool any_long = false;
  JsonArray charts;
  for (const Measure measure : {Measure::kAcceptanceLength, Measure::kLoss}) {
    const std::vector<ArmCurve> arms = curves(study.summary, measure);
    for (const ArmCurve& one : arms) any_long |= one.points.size() >= kLongCurve;
    JsonArray names, looks;
    for (const ArmCurve& one : arms) {
      names.emplace_back(without_controls(shorten(one.arm->name, 40)));
      looks.push_back(JsonObject{{"colour", "--k" + std::to_string(one.arm->look % kHues)},
                                 {"dashes", dashes(one.arm->look)}});
    }
    charts.push_back(JsonObject{{"title", capitalized(kind_of(measure).name)},
                                {"names", names},
                                {"looks", looks},
                                {"rows", rows(arms)}});
  }
  if (!any_long) return "";
  std::string json = canonical(JsonObject{
      {"after", kind_of(Measure::kAcceptanceLength).key + "-steps"}, {"charts", charts}});
  for (size_t at = 0; (at = json.find('<', at)) != std::string::npos;)
    json.replace(at, 1, "\\u003c");
  return json;
}

// Series have made-up labels, so that no name is a key of the library's tables.
std::string_view zoom_driver() {
  return R"((() => {
  const data = JSON.parse(document.getElementById('zoom-data').textContent);
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const element = (name, text) => {
    const made = document.createElement(name);
    made.textContent = text;
    return made;
  };
  const part = element('details', '');
  part.className = 'zoom';
  part.append(element('summary', 'Zoom in'),
    element('p', 'Drag to zoom, double-click to go back, hold shift and drag to move. With the keyboard: ' +
      'tab to a chart, + and - to zoom, arrows to move, 0 to go back.'));
  const pair = element('div', '');
  pair.className = 'pair';
  part.append(pair);
  const boxes = data.charts.map(chart => {
    const box = element('div', ''), plot = element('div', ''), values = element('div', '');
    plot.className = 'plot';
    plot.tabIndex = 0;
    plot.setAttribute('role', 'application');
    plot.setAttribute('aria-label', chart.title + ' against training steps');
    values.className = 'values';
    box.append(element('p', chart.title + ' against training steps'), plot, values);
    pair.append(box);
    return {chart, plot, values};
  });
  document.getElementById(data.after).closest('.pair').after(part);

  const colours = chart => ({
    colors: chart.looks.map(look => colour(look.colour)),
    axisLineColor: colour('--soft'), gridLineColor: colour('--rule'),
  });
  // What one chart shows of the horizontal axis, and the step that it is read at, the others follow.
  let drawn, following = false;
  const all = act => {
    if (following || !drawn) return;
    following = true;
    drawn.forEach(act);
    following = false;
  };
  const show = (from, to, by) => all(graph =>
    graph === by || graph.updateOptions({dateWindow: [from, to]}));
  const readAt = x => all(graph => {
    let row = 0;
    while (row + 1 < graph.numRows() && graph.getValue(row, 0) < x) ++row;
    graph.setSelection(row);
  });
  const number = value => value === 'NaN' ? NaN : value;
  const draw = ({chart, plot, values}) => {
    const labels = chart.names.map((_, i) => 'arm' + i);
    const html = {};
    labels.forEach((label, i) => html[label] = element('b', chart.names[i]).outerHTML);
    const rows = chart.rows.map(row =>
      row.map((cell, i) => i === 0 || cell === null ? cell : cell.map(number)));
    return new Dygraph(plot, rows, {
      ...colours(chart), labels: ['step', ...labels], customBars: true, fillAlpha: 0.12,
      connectSeparatedPoints: true, strokeWidth: 2, showRoller: false, rollPeriod: 1,
      labelsDiv: values, legend: 'always',
      drawCallback: (graph, first) => first || show(...graph.xAxisRange(), graph),
      highlightCallback: (event, x) => readAt(x),
      series: Object.fromEntries(labels.map((label, i) =>
        [label, {strokePattern: chart.looks[i].dashes.length ? chart.looks[i].dashes : null}])),
      legendFormatter: now => (now.x === undefined ? '' : 'step ' + now.xHTML + ' ') +
        now.series.map(one => '<span><span style="color:' + one.color + '">' + one.dashHTML +
          '</span> ' + html[one.label] +
          (one.yHTML === undefined ? '' : ' ' + one.yHTML) + '</span>').join(' '),
    });
  };
  // Keys do what the mouse does; the values beside the chart follow the middle of what is shown.
  const steer = ({plot}, graph) => plot.addEventListener('keydown', event => {
    const [low, high] = graph.xAxisRange(), [first, last] = graph.xAxisExtremes();
    const middle = (low + high) / 2, half = (high - low) / 2;
    const keys = new Map([
      ['+', [middle - half / 2, middle + half / 2]], ['-', [middle - 2 * half, middle + 2 * half]],
      ['ArrowLeft', [low - half / 2, high - half / 2]],
      ['ArrowRight', [low + half / 2, high + half / 2]], ['0', [first, last]]]);
    if (!keys.has(event.key)) return;
    event.preventDefault();
    const [left, right] = keys.get(event.key), width = Math.min(right - left, last - first);
    const from = Math.min(Math.max(left, first), last - width);
    show(from, from + width);
    readAt(from + width / 2);
  });
  part.addEventListener('toggle', () => { 
    if (part.open) drawn = drawn || boxes.map(box => {
      const graph = draw(box);
      steer(box, graph);
      return graph;
    });
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
    drawn && drawn.forEach((plot, i) => plot.updateOptions(colours(boxes[i].chart))));
})();
)";
}

}  // namespace draftlab
