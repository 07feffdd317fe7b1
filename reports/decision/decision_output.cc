#include <algorithm>
#include <cmath>
#include <filesystem>

#include "reports/decision/decision.h"
#include "reports/page/page.h"
#include "reports/pipeline/pipeline_findings.h"
#include "reports/text/html.h"

namespace draftlab {
namespace {

std::string verdict_html(Verdict verdict) {
  const std::string text = to_text(verdict);
  return verdict == Verdict::kFor       ? "<strong>" + text + "</strong>"
         : verdict == Verdict::kAgainst ? "<strong class=\"flag\">" + text + "</strong>"
                                        : text;
}

std::string summary_section(const Decision& decision) {
  HtmlTable choices({"", "verdict", "why"}, 3);
  for (const Decision::Choice& choice : decision.choices)
    choices.row({escape(choice.name), verdict_html(choice.verdict), escape(choice.reason)});
  HtmlTable pillars({"pillar", "verdict", "why"}, 3);
  for (const Pillar& pillar : decision.pillars)
    pillars.row({escape(pillar.name), verdict_html(pillar.verdict), escape(pillar.reason)});
  return section("summary", "Recommendation",
                 paragraph("<strong>" + escape(decision.recommendation) + "</strong>") +
                     paragraph("Its weakest pillar: " +
                               escape(decision.pillars[decision.weakest].name) + ".") +
                     choices.html() + pillars.html());
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
  if (!pillar.numbers.empty()) html += numbers.html();
  if (!pillar.limits.empty()) {
    std::string list;
    for (const std::string& limit : pillar.limits) list += paragraph(escape(limit), "note");
    html += "<h3>What limits this</h3>\n" + list;
  }
  return section(id, pillar.name, html);
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

Json decision_json(const Decision& decision, const DecisionContext& context,
                   const std::vector<Reading>& others) {
  JsonArray pillars, choices;
  for (const Pillar& pillar : decision.pillars) {
    JsonArray numbers, limits(pillar.limits.begin(), pillar.limits.end());
    for (const PillarNumber& number : pillar.numbers) {
      numbers.push_back(JsonObject{{"what", number.what},
                                   {"value", number.value},
                                   {"low", number.low},
                                   {"high", number.high},
                                   {"n", number.n}});
    }
    pillars.push_back(JsonObject{{"name", pillar.name},
                                 {"question", pillar.question},
                                 {"numbers", std::move(numbers)},
                                 {"rule", pillar.rule},
                                 {"verdict", to_text(pillar.verdict)},
                                 {"reason", pillar.reason},
                                 {"margin", pillar.margin},
                                 {"settle", pillar.settle},
                                 {"limits", std::move(limits)}});
  }
  for (const Decision::Choice& choice : decision.choices) {
    choices.push_back(JsonObject{
        {"name", choice.name}, {"verdict", to_text(choice.verdict)}, {"reason", choice.reason}});
  }
  JsonArray readings;
  for (const Reading& other : others) {
    JsonObject object = decision_json(other.decision, other.context).as_object();
    object["reading"] = other.context.reading;
    readings.push_back(std::move(object));
  }
  return JsonObject{{"context", context.name},
                    {"reading", context.reading},
                    {"readings", std::move(readings)},
                    {"current", context.current},
                    {"candidate", context.candidate},
                    {"recommendation", decision.recommendation},
                    {"weakest_pillar", decision.pillars[decision.weakest].name},
                    {"choices", std::move(choices)},
                    {"pillars", std::move(pillars)}};
}

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
      paragraph("draftlab decision", "kicker") + "<h1>" + escape(context.name) +
      "</h1>\n<dl class=\"facts\">\n";
  for (const auto& [what, text] : context_facts(context))
    html += "<dt>" + escape(what) + "</dt><dd>" + escape(text) + "</dd>\n";
  for (const std::string& folder : folders)
    html += "<dt>measured in</dt><dd>" + escape(last_part(folder)) + "</dd>\n";
  html += "</dl>\n" + summary_section(decision) + readings_section(decision, context, others);
  for (const Pillar& pillar : decision.pillars) html += pillar_section(pillar);
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace draftlab
