// A decision as one HTML file: the verdict, what speaks against and for, then everything else.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "reports/charts/chart.h"
#include "reports/charts/drawing.h"
#include "reports/charts/label.h"
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

// Where a number stands between against (0) and for (1), 0.5 at the threshold; ratios by their
// logarithm. `reach`: what lies at the ends.
double place_of(double value, const Balance& scale, double reach) {
  const double away = scale.threshold == 1 ? std::log(value) : value - scale.threshold;
  const double side = scale.above_is_for ? away : -away;
  return 0.5 + 0.5 * std::clamp(side / reach, -1.0, 1.0);
}

// Each row has a scale of its own, with its values at the ends of the interval.
std::string scale_figure(const Decision& decision) {
  constexpr double kWidth = 940, kNames = 190, kSaid = 250, kTop = 34, kRow = 30;
  struct Row {
    std::string name, verdict;
    const Balance* scale;
  };
  std::vector<Row> rows;
  for (const Pillar& pillar : decision.pillars) {
    const std::string verdict = to_text(pillar.verdict);
    if (pillar.balances.empty()) rows.push_back({pillar.name, verdict + ": not measured", nullptr});
    for (const Balance& scale : pillar.balances) {
      rows.push_back({&scale == &pillar.balances[0] ? pillar.name : "",
                      (&scale == &pillar.balances[0] ? verdict + ": " : "") + scale.number.what,
                      &scale});
    }
  }
  const double left = kNames, right = kWidth - kSaid;
  const double height = kTop + kRow * static_cast<double>(rows.size()) + 6;
  Drawing drawing(
      "scale", "Against and for the candidate",
      "For each pillar the number that decides with its interval; left of the middle it "
      "speaks against the candidate, right of it for it.",
      kWidth, height);
  const double middle = (left + right) / 2;
  drawing.text(left, 16, "← against", "label");
  drawing.text(right, 16, "for →", "label end");
  drawing.line(middle, kTop - 8, middle, height, "axis");
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const double y = kTop + kRow * (static_cast<double>(i) + 0.4);
    drawing.text(0, y + 4, row.name, "rowname");
    drawing.text(right + 60, y + 4, fitted({row.verdict}, kSaid - 60)[0], "label");
    if (row.scale == nullptr || !std::isfinite(row.scale->number.value)) continue;
    const PillarNumber& number = row.scale->number;
    const bool ratio = row.scale->threshold == 1;
    double reach = 1e-12;
    for (const double end : {number.value, number.low, number.high}) {
      const double away = ratio ? std::log(end) : end;
      if (std::isfinite(away)) reach = std::max(reach, std::abs(away));
    }
    const auto x = [&](double value) {
      return left + 46 + place_of(value, *row.scale, reach) * (right - left - 92);
    };
    drawing.begin_tip(number.what + ": " + number_phrase(number));
    if (std::isfinite(number.low) && std::isfinite(number.high)) {
      const double from = std::min(x(number.low), x(number.high)),
                   to = std::max(x(number.low), x(number.high));
      const bool turned = x(number.low) > x(number.high);
      drawing.line(from, y, to, y, "plain-interval");
      drawing.text(from - 6, y + 4, short_number(turned ? number.high : number.low), "small end");
      drawing.text(to + 6, y + 4, short_number(turned ? number.low : number.high), "small");
    }
    drawing.circle(x(number.value), y, 4.5, "solid");
    drawing.end_tip();
  }
  return figure_of(drawing.svg(), {}, "full");
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
                                      context.candidate + " with the measured ratio of steps."
                            : decision.turning_step_ratio >= 4
                                ? "The bottleneck is for " + context.candidate +
                                      " even where a step takes 4 times as long."
                                : "The bottleneck is for " + context.candidate +
                                      " where a step takes up to " +
                                      short_number(decision.turning_step_ratio) + " times as long.";
  return section("what-if", "What if",
                 paragraph(escape(turns)) +
                     paragraph("Time to the target with " + escape(context.candidate) +
                               " over that with " + escape(context.current) +
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

// What to do, without the reasons in brackets, which stand below.
std::string first_sentence(const std::string& recommendation) {
  const size_t end = std::min(recommendation.find(" ("), recommendation.find(", as "));
  return end == std::string::npos ? recommendation : recommendation.substr(0, end) + ".";
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
      escape(first_sentence(decision.recommendation)) + "</h1>\n" + scale_figure(decision) +
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
