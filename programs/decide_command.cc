#include <cmath>
#include <iostream>

#include "base/file.h"
#include "base/terminal_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "reports/decision/decision.h"
#include "reports/pipeline/pipeline_findings.h"
#include "reports/tables/exported_study.h"

namespace draftlab {
namespace {

constexpr char kHelp[] =
    "usage: draftlab decide DIR... --context CONTEXT.json [--out DIR] [--json]\n\n"
    "Whether a run in production should change its optimizer, from what the folders measured: "
    "five pillars\n"
    "(bottleneck, time behind the switch, switch cost, architecture, diminishing returns), each "
    "with its\n"
    "numbers, rule and verdict, and what follows for starting with the other optimizer, "
    "switching now,\n"
    "and staying. Writes decision.html and decision.json beside the report. docs/decide.md "
    "explains\n"
    "CONTEXT.json and the rules. A DIR may also be the tables of a report, without the runs "
    "(docs/csv.md).\n\n"
    "  draftlab decide runs/switch_study --context sweeps/decide_story.json\n"
    "  draftlab decide runs/switch_study runs/budgets --context story.json --out decisions/story\n";

constexpr size_t kWidth = 100;

void print_pillar(const Pillar& pillar) {
  std::cout << "\n" << printable(pillar.name) << ": " << to_text(pillar.verdict) << "\n";
  const auto line = [](const std::string& head, const std::string& text) {
    if (!text.empty()) std::cout << wrapped("  " + padded(head, 9), printable(text), kWidth);
  };
  line("question", pillar.question);
  line("why", pillar.reason);
  line("rule", pillar.rule);
  line("settle", pillar.settle);
  for (const std::string& origin : pillar.origins) line("from", origin);
  std::vector<std::vector<std::string>> rows;
  for (const PillarNumber& number : pillar.numbers) {
    rows.push_back({"  " + printable(number.what), short_number(number.value),
                    std::isnan(number.low)
                        ? "-"
                        : short_number(number.low) + " to " + short_number(number.high),
                    number.n == 0 ? "-" : std::to_string(number.n)});
  }
  if (!rows.empty())
    std::cout << table({"  measured", "value", "95 % interval", "n"}, rows,
                       {false, true, true, true});
  for (const std::string& limit : pillar.limits) line("limit", limit);
}

void print_decision(const Decision& decision, const DecisionContext& context) {
  std::cout << printable(context.name) << "\n";
  for (const auto& [what, text] : context_facts(context))
    std::cout << wrapped("  " + padded(what, 14), printable(text), kWidth);
  std::cout << "\n" << wrapped("", printable(decision.recommendation), kWidth);
  for (const std::string& each : decision.disagreements)
    std::cout << wrapped("", printable(each), kWidth);
  std::cout << "weakest pillar: " << decision.pillars[decision.weakest].name << "\n";
  for (const Decision::Choice& choice : decision.choices) {
    std::cout << wrapped("  " + padded(choice.name, 14) + padded(to_text(choice.verdict), 10),
                         printable(choice.reason), kWidth);
  }
  for (const Pillar& pillar : decision.pillars) print_pillar(pillar);
}

}  // namespace

int decide_command(const Words& words) {
  CommandLine line(kHelp);
  line.arguments("DIR");
  line.option("context", "FILE", "the run in production (docs/decide.md)");
  line.option("out", "DIR", "where the decision goes; default: the folder's own DIR/report");
  line.flag("json", "print decision.json instead of text");
  if (!line.parse(words)) return 0;
  const std::vector<std::string> names = line.texts("DIR");
  const auto out = line.optional_text("out"), file = line.optional_text("context");
  if (!file) throw UsageError("--context FILE is missing: which run is the decision about?");
  if (names.size() > 1 && !out)
    throw UsageError("--out DIR is missing: where shall the decision from several folders go?");
  const std::vector<DecisionContext> readings = parse_decision_readings(read_json(*file), *file);
  const DecisionContext& context = readings.front();
  std::vector<Study> studies;
  for (const std::string& name : names) studies.push_back(result_or_exported_study(name));
  const Decision decision = decide(studies, context);
  std::vector<Reading> others;
  for (size_t i = 1; i < readings.size(); ++i)
    others.push_back({readings[i], decide(studies, readings[i])});
  const Json json = decision_json(decision, context, others);
  const std::filesystem::path place = out ? std::filesystem::path(*out)
                                      : holds_exported_study(names[0])
                                          ? std::filesystem::path(names[0])
                                          : RunFolder(names[0]).report();
  make_folder(place);
  replace_file(place / "decision.json", pretty(json));
  replace_file(place / "decision.html", decision_page(decision, context, others, names));
  if (line.given("json")) {
    std::cout << pretty(json);
    return 0;
  }
  print_decision(decision, context);
  for (const Reading& other : others) {
    std::cout << "\n"
              << wrapped("read as: ", printable(other.context.reading), kWidth)
              << wrapped("  ", printable(other.decision.recommendation), kWidth);
  }
  std::cout << "\n" << (place / "decision.html").string() << "\n";
  return 0;
}

}  // namespace draftlab
