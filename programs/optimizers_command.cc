#include <iostream>

#include "base/error.h"
#include "base/nearest_name.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "programs/optimizer_text.h"

namespace draftlab {
namespace {

constexpr char kHelp[] =
    "usage: draftlab optimizers [NAME | orthogonalizers | markdown]\n\n"
    "Lists the optimizers that an arm of a sweep file can name, with their conventions and costs, "
    "or\n"
    "explains one: formula, options with defaults and ranges, what each convention changes. A dot "
    "in an\n"
    "option stands for a nested object: adamw.beta1 is \"adamw\": {\"beta1\": ...}. In a sweep "
    "file "
    "any option\n"
    "may be a list of values to try.\n\n"
    "  draftlab optimizers\n"
    "  draftlab optimizers muon             an optimizer\n"
    "  draftlab optimizers orthogonalizers  the ways to orthogonalize a matrix\n"
    "  draftlab optimizers polar_express    one of them\n"
    "  draftlab optimizers markdown         the table of docs/optimizers.md\n";

std::string explained(const std::string& name) {
  std::vector<std::string> known = {"orthogonalizers", "markdown"};
  if (name == known[0]) return orthogonalizer_list();
  if (name == known[1]) return optimizer_markdown();
  for (const OptimizerKind& kind : optimizer_kinds()) {
    if (kind.name == name) return explained(kind);
    known.push_back(kind.name);
  }
  for (const OrthogonalizerKind& kind : orthogonalizer_kinds()) {
    if (kind.name == name) return explained(kind);
    known.push_back(kind.name);
  }
  if (name == "aol4_old") orthogonalizer_kind(name, "draftlab optimizers");  // says why not
  const std::string nearest = nearest_name(name, known);
  throw Error(
      "draftlab optimizers",
      "'" + name + "' is neither an optimizer nor an orthogonalizer; " +
          (nearest.empty() ? "known: " + comma_list(known) : "did you mean '" + nearest + "'?"));
}

}  // namespace

int optimizers_command(const Words& words) {
  if (words.size() == 1 && !words[0].starts_with("-")) {
    std::cout << explained(words[0]);
    return 0;
  }
  CommandLine line(kHelp);
  if (line.parse(words)) std::cout << optimizer_list();
  return 0;
}

}  // namespace draftlab
