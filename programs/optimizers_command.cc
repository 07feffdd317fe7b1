#include <iostream>

#include "base/number_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "record/optimizer_config.h"
#include "runner/terminal_text.h"

namespace draftlab {
namespace {

constexpr char kHelp[] =
    "usage: draftlab optimizers [KIND]\n\n"
    "The kinds of optimizer that an arm of a sweep file can name, with their options. A dot stands "
    "for a\n"
    "nested object: adamw.beta1 is \"adamw\": {\"beta1\": ...}. Any option may be a list of values "
    "to try.\n\n"
    "  draftlab optimizers\n"
    "  draftlab optimizers muon\n";

std::string allowed(const OptimizerOption& option) {
  if (option.fallback.is_bool()) return "true or false";
  std::string text;
  for (const std::string& choice : option.choices) text += (text.empty() ? "" : ", ") + choice;
  if (!text.empty()) return text;
  return option.low == 0 && option.high == 0
             ? "any"
             : number_text(option.low) + " to " + number_text(option.high);
}

void print(const OptimizerKind& kind) {
  std::cout << kind.name << ": " << kind.summary << "\n  " << kind.source << "\n";
  std::vector<std::vector<std::string>> rows;
  for (const OptimizerOption& option : kind.options) {
    rows.push_back({"  " + option.key,
                    option.fallback.is_null() ? "required" : canonical(option.fallback),
                    allowed(option), option.meaning});
  }
  std::cout << table({"  option", "default", "allowed", "meaning"}, rows,
                     {false, false, false, false})
            << "\n";
}

}  // namespace

int optimizers_command(const Words& words) {
  if (words.size() == 1 && !words[0].starts_with("-")) {
    print(optimizer_kind(words[0], "draftlab optimizers"));
    return 0;
  }
  CommandLine line(kHelp);
  if (!line.parse(words)) return 0;
  for (const OptimizerKind& kind : optimizer_kinds()) print(kind);
  return 0;
}

}  // namespace draftlab
