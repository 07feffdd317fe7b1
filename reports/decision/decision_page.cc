// A decision as one HTML file: the verdict, what speaks against and for, then everything else.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "record/optimizer_kind.h"
#include "reports/charts/axis.h"
#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/decision/decision.h"
#include "reports/page/page.h"
#include "reports/pipeline/pipeline_findings.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

namespace draftlab {
namespace {

std::string verdict_html(Verdict verdict) {
  const std::string text = to_text(verdict);
  return verdict == Verdict::kFor       ? "<strong>" + text + "</strong>"
         : verdict == Verdict::kAgainst ? "<strong class=\"flag\">" + text + "</strong>"
                                        : text;
}

constexpr double kWidth = 560, kNames = 160, kVerdicts = 78, kTop = 40, kRow = 34, kEnds = 44;

// With a minus that is one.
std::string label_of(double value) {
  const std::string text = short_number(value);
  return text.starts_with('-') ? "−" + text.substr(1) : text;
}

// Where a number lies on its scale: 0 where the question turns, above for the candidate; ratios by
// their logarithm.
double placed(double value, const Balance& scale) {
  const double away = scale.threshold == 1 ? std::log(value) : value - scale.threshold;
  return scale.above_is_for ? away : -away;
}

// The number with its interval, as far out as its row has room.
void draw_balance(const Balance& scale, double y, const Axis& x, Drawing& drawing) {
  const PillarNumber& number = scale.number;
  const double value = placed(number.value, scale);
  double ends[] = {placed(number.low, scale), placed(number.high, scale)};
  std::string labels[] = {label_of(number.low), label_of(number.high)};
  if (ends[0] > ends[1]) {
    std::swap(ends[0], ends[1]);
    std::swap(labels[0], labels[1]);
  }
  double reach = 1e-12;
  for (const double place : {value, ends[0], ends[1]}) {
    if (std::isfinite(place)) reach = std::max(reach, std::abs(place));
  }
  drawing.begin_tip(number.what + ": " + number_phrase(number));
  if (std::isfinite(ends[0]) && std::isfinite(ends[1])) {
    drawing.line(x.at(ends[0] / reach), y, x.at(ends[1] / reach), y, "plain-interval");
    drawing.text(x.at(ends[0] / reach) - 6, y + 4, labels[0], "small end halo");
    drawing.text(x.at(ends[1] / reach) + 6, y + 4, labels[1], "small halo");
  }
  if (std::isfinite(value)) {
    drawing.circle(x.at(value / reach), y, 4.5, "solid");
    drawing.text(x.at(value / reach), y - 8, label_of(number.value), "small middle halo");
  }
  drawing.end_tip();
}

// A row for each number that a verdict rests on. Ratios and differences have no common scale, so
// that each row has its own.
std::string scale_figure(const Decision& decision, const DecisionContext& context) {
  size_t rows = 0;
  for (const Pillar& pillar : decision.pillars) rows += std::max<size_t>(1, pillar.balances.size());
  const double height = kTop + kRow * static_cast<double>(rows) + 4;
  const Axis x(Scale::kLinear, -1, 1, kNames + kEnds, kWidth - kVerdicts - kEnds);
  Drawing drawing("scale", "Against and for the candidate",
                  "For each pillar the numbers that decide with their intervals; left of the line "
                  "they speak against the candidate, right of it for it.",
                  kWidth, height);
  drawing.text(x.at(0) - 10, 14, "← against " + kind_title(context.candidate), "small end");
  drawing.text(x.at(0) + 10, 14, "for " + kind_title(context.candidate) + " →", "small");
  drawing.line(x.at(0), 22, x.at(0), height - 2, "axis");
  double y = kTop + kRow / 2;
  for (const Pillar& pillar : decision.pillars) {
    const bool decided = pillar.verdict != Verdict::kUndecided;
    drawing.text(0, y + 4, pillar.name, "rowname");
    drawing.text(kWidth, y + 4, to_text(pillar.verdict),
                 decided ? "label strong end" : "label end");
    if (pillar.balances.empty()) {
      drawing.text(x.at(0) + 10, y + 4, "not measured", "small halo");
      y += kRow;
    }
    for (const Balance& scale : pillar.balances) {
      const bool beside_pillar = &scale == &pillar.balances.front();
      if (!scale.name.empty()) drawing.text(0, y + (beside_pillar ? 18 : 4), scale.name, "small");
      draw_balance(scale, y, x, drawing);
      y += kRow;
    }
  }
  return figure_of(drawing.svg(), {}, "");
}

std::string summary_section(const Decision& decision) {
  HtmlTable choices({"", "verdict", "why"}, 3);
  for (const Decision::Choice& choice : decision.choices)
    choices.row({escape(choice.name), verdict_html(choice.verdict), escape(choice.reason)});
  return section("summary", "Recommendation",
                 paragraph("<strong>" + escape(decision.recommendation) + "</strong>") +
                     paragraph("Its weakest pillar: " +
                               escape(decision.pillars[decision.weakest].name) + ".") +
                     choices.html());
}

// What would settle each pillar, and what is at odds.
std::string settle_table(const Decision& decision) {
  std::string html;
  for (const std::string& each : decision.disagreements)
    html += paragraph("<strong class=\"flag\">" + escape(each) + "</strong>");
  HtmlTable table({"pillar", "verdict", "would settle it"}, 3);
  for (const Pillar& pillar : decision.pillars) {
    table.row({escape(pillar.name), verdict_html(pillar.verdict),
               pillar.settle.empty() ? "settled" : escape(pillar.settle)});
  }
  return html + table.html();
}

// The bottleneck's verdict at other lengths of a step, and with more seeds of the same scatter.
std::string what_if_section(const Decision& decision, const DecisionContext& context) {
  if (decision.what_if.empty()) return "";
  std::vector<std::string> heads = {"a step takes"};
  const double first = decision.what_if.front().step_ratio;
  for (const WhatIf& one : decision.what_if) {
    if (one.step_ratio == first)
      heads.push_back((heads.size() == 1 ? "as measured, " : "") + counted(one.seeds, "seed"));
  }
  HtmlTable table(heads, heads.size());
  std::vector<std::string> cells;
  for (const WhatIf& one : decision.what_if) {
    if (cells.empty()) cells.push_back(short_number(one.step_ratio) + " times as long");
    cells.push_back(verdict_html(one.verdict) + ": " + escape(number_phrase(one.time)));
    if (cells.size() == heads.size()) table.row(std::exchange(cells, {}));
  }
  const std::string turns = std::isnan(decision.turning_step_ratio)
                                ? "At no length of a step is the bottleneck for " +
                                      kind_title(context.candidate) +
                                      " with the measured ratio of steps."
                            : decision.turning_step_ratio >= 4
                                ? "The bottleneck is for " + kind_title(context.candidate) +
                                      " even where a step takes 4 times as long."
                                : "The bottleneck is for " + kind_title(context.candidate) +
                                      " where a step takes up to " +
                                      short_number(decision.turning_step_ratio) + " times as long.";
  return section("what-if", "What if",
                 paragraph(escape(turns)) +
                     paragraph("Time to the target with " + escape(kind_title(context.candidate)) +
                               " over that with " + escape(kind_title(context.current)) +
                               ", if a step took this long and if there had been so many seeds "
                               "with the same scatter.") +
                     table.html());
}

std::string pillar_section(const Pillar& pillar) {
  HtmlTable numbers({"measured", "value", "95 % interval", "n"}, 1);
  for (const PillarNumber& number : pillar.numbers) {
    numbers.row({escape(number.what), short_number(number.value),
                 std::isnan(number.low)
                     ? "–"
                     : short_number(number.low) + " to " + short_number(number.high),
                 number.n == 0 ? "–" : std::to_string(number.n)});
  }
  std::string id = pillar.name;
  std::ranges::replace(id, ' ', '-');
  std::string html = paragraph(escape(pillar.question)) +
                     paragraph(verdict_html(pillar.verdict) + ": " + escape(pillar.reason));
  if (!pillar.settle.empty()) html += paragraph("What would settle it: " + escape(pillar.settle));
  html += paragraph("Rule: " + escape(pillar.rule), "note");
  if (!pillar.origins.empty())
    html += paragraph("From " + escape(listed(pillar.origins)) + ".", "note");
  if (!pillar.numbers.empty()) html += numbers.html();
  if (!pillar.limits.empty()) {
    std::string list;
    for (const std::string& limit : pillar.limits) list += paragraph(escape(limit), "note");
    html += "<h3>What limits this</h3>\n" + list;
  }
  return section(id, pillar.name, html);
}

// What to do, without the reasons, which stand below.
std::string headline(const Decision& decision, const DecisionContext& context) {
  if (decision.choices[1].verdict == Verdict::kFor)
    return "Switch this run to " + kind_title(context.candidate) + " now.";
  const Verdict start = decision.choices[0].verdict;
  return "Stay with " + kind_title(context.current) + " in this run. Start the next with " +
         kind_title(context.candidate) + ": " +
         (start == Verdict::kFor       ? "yes."
          : start == Verdict::kAgainst ? "no."
                                       : "open.");
}

// Folders are of a machine; their names are not.
std::string last_part(const std::string& folder) {
  const auto path = std::filesystem::path(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

// Where the facts can be read in several ways: a verdict for each.
std::string readings_section(const Decision& decision, const DecisionContext& context,
                             const std::vector<Reading>& others) {
  if (others.empty()) return "";
  HtmlTable table({"read as", "done", "start with it", "switch now", "stay"}, 9);
  const auto row = [&](const DecisionContext& read, const Decision& made) {
    std::vector<std::string> cells = {escape(read.reading.empty() ? read.name : read.reading),
                                      share_text(read.place.share_of_training())};
    for (const Decision::Choice& choice : made.choices)
      cells.push_back(verdict_html(choice.verdict));
    table.row(cells);
  };
  row(context, decision);
  bool same = true;
  for (const Reading& other : others) {
    row(other.context, other.decision);
    for (size_t i = 0; i < decision.choices.size(); ++i)
      same &= other.decision.choices[i].verdict == decision.choices[i].verdict;
  }
  return section("readings", "How the facts are read",
                 table.html() + paragraph(same ? "Every reading leads to the same verdicts."
                                               : "The verdicts depend on the reading: find out "
                                                 "which is right before acting.",
                                          "note"));
}

}  // namespace

std::string decision_page(const Decision& decision, const DecisionContext& context,
                          const std::vector<Reading>& others,
                          const std::vector<std::string>& folders) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>" +
      escape(shorten(context.name, 120)) + " · draftlab decision</title>\n<style>\n" +
      std::string(page_style()) + "</style>\n</head>\n<body>\n<main>\n" +
      paragraph("draftlab decision · " + escape(context.name), "kicker") + "<h1>" +
      escape(headline(decision, context)) + "</h1>\n" + scale_figure(decision, context) +
      paragraph(
          "The line is where the question turns. Each row has its own scale, with its 95 % "
          "interval.",
          "note") +
      settle_table(decision) + "<dl class=\"facts\">\n";
  for (const auto& [what, text] : context_facts(context))
    html += "<dt>" + escape(what) + "</dt><dd>" + escape(text) + "</dd>\n";
  for (const std::string& folder : folders)
    html += "<dt>measured in</dt><dd>" + escape(last_part(folder)) + "</dd>\n";
  html += "</dl>\n" + summary_section(decision) + readings_section(decision, context, others) +
          what_if_section(decision, context);
  for (const Pillar& pillar : decision.pillars) html += pillar_section(pillar);
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace draftlab
