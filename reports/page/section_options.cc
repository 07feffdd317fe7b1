#include <algorithm>
#include <map>

#include "base/number_text.h"
#include "record/optimizer_kind.h"
#include "record/option.h"
#include "reports/page/sections.h"
#include "reports/text/html.h"

namespace draftlab {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t side : shape) text += (text.empty() ? "" : " × ") + std::to_string(side);
  return text;
}

std::string full_routing(const Arm& arm) {
  HtmlTable table({"tensor", "shape", "split", "rule", "effective learning rate", "weight decay"},
                  4);
  for (const Route& route : example_run(arm).config.routing) {
    const bool frozen = route.rule == "frozen";
    table.row({"<code>" + escape(route.name) + "</code>", shape_text(route.shape),
               route.split.size() == 1 ? "–" : split_text(route), escape(kind_title(route.rule)),
               frozen ? "–" : rates_text(route), frozen ? "–" : number_text(route.weight_decay)});
  }
  return details("All tensors of " + escape(arm.name), table.html());
}

// The resolved options of one arm without what has a place of its own on the page.
std::map<std::string, std::string> options_of(const Arm& arm) {
  JsonObject config = to_json(example_run(arm).config);
  for (const char* key : {"routing", "seeds", "parent"}) config.erase(key);
  std::map<std::string, std::string> options;
  for (const auto& [key, value] : flatten(config)) options[key] = option_text(value);
  for (const SweptOption& option : arm.swept) {
    std::string tried;
    for (const Json& value : option.values)
      tried += (tried.empty() ? "" : ", ") + option_text(value);
    options["optimizer." + option.key] += " (of " + tried + ")";
  }
  return options;
}

}  // namespace

std::string routing_section(const Study& study) {
  HtmlTable table({"arm", "update rule", "tensors", "parameters"}, 2);
  std::string full;
  for (const Arm& arm : study.summary.arms) {
    std::string name = escape(arm.name);
    for (const RoutingTotal& total : routing_totals(example_run(arm).config.routing)) {
      table.row({name, escape(kind_title(total.rule)), grouped(total.tensors),
                 grouped(total.parameters)});
      name.clear();
    }
    full += full_routing(arm);
  }
  return section(
      "routing", "Routing",
      table.html() +
          paragraph(
              "Which update rule each trained tensor gets, at the chosen setting. The "
              "effective learning rate is the base rate times the scale of the tensor's "
              "shape, or of each block of its rows where it is split; the schedule multiplies it.",
              "note") +
          full);
}

std::string options_section(const Study& study) {
  const std::vector<Arm>& arms = study.summary.arms;
  std::vector<std::map<std::string, std::string>> options;
  std::map<std::string, bool> keys;
  std::vector<std::string> head = {"option"};
  const size_t reference = study.summary.reference;
  for (size_t i = 0; i < arms.size(); ++i) {
    options.push_back(options_of(arms[i]));
    for (const auto& [key, value] : options.back()) keys[key] = true;
    head.push_back(escape(arms[i].name) + (i == reference ? "<small>reference</small>" : ""));
  }
  HtmlTable different(head, 99), same({"option", "value"}, 99);
  for (const auto& [key, ignored] : keys) {
    std::vector<std::string> cells = {"<code>" + escape(key) + "</code>"};
    for (const auto& one : options) {
      const auto found = one.find(key);
      cells.push_back(found == one.end() ? "–" : escape(found->second));
    }
    const bool equal = std::all_of(cells.begin() + 1, cells.end(),
                                   [&](const std::string& cell) { return cell == cells[1]; });
    if (equal) {
      same.row({cells[0], cells[1]});
      continue;
    }
    const std::string expected = cells[1 + reference];
    for (size_t i = 1; i < cells.size(); ++i) {
      if (cells[i] != expected)
        cells[i] = "<span class=\"differs\" title=\"differs from the reference\">≠</span>\u00a0" +
                   cells[i];
    }
    different.row(cells);
  }
  return section(
      "options", "Options",
      paragraph(
          "Resolved values at the chosen setting, defaults included; in brackets "
          "what was tried. – means that the optimizer has no such option; ≠ marks what differs "
          "from the reference.",
          "note") +
          "<h3>Different between arms</h3>\n" + different.html() +
          "<h3>The same in every arm</h3>\n" + same.html());
}

}  // namespace draftlab
