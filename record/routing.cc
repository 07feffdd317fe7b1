#include "record/routing.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace draftlab {
namespace {

bool matches(const RoutingRule& rule, const ParameterShape& parameter) {
  const auto& shape = parameter.shape;
  if (rule.dimensions != 0 && static_cast<int64_t>(shape.size()) != rule.dimensions) return false;
  if (rule.smallest_side != 0 && std::any_of(shape.begin(), shape.end(), [&](int64_t side) {
        return side < rule.smallest_side;
      })) {
    return false;
  }
  return fnmatch(rule.pattern.c_str(), parameter.name.c_str(), 0) == 0;
}

Route make_route(const ParameterShape& parameter, const OptimizerConfig& optimizer,
                 const std::string& rule, const std::string& where) {
  const OptimizerKind& kind = optimizer_kind(optimizer.kind, where);
  const std::string own = rule == "matrix" ? kind.matrix_rule : rule;
  Route route{parameter.name, parameter.shape, own, 0, 0};
  if (own == "adamw") {
    // AdamW's options are nested where it is only the partner.
    const std::string prefix = kind.matrix_rule == "adamw" ? "" : "adamw.";
    route.learning_rate = optimizer.number(prefix + "learning_rate");
    route.weight_decay = optimizer.number(prefix + "weight_decay");
  } else if (own != "frozen") {
    const auto& shape = parameter.shape;
    if (shape.size() != 2) {
      throw Error(where, parameter.name + " has " + std::to_string(shape.size()) +
                             " dimension(s), and " + own +
                             " updates matrices only; give it \"adamw\" or \"frozen\"");
    }
    route.learning_rate =
        optimizer.learning_rate() * muon_scale(optimizer.text("scale"), shape[0], shape[1]);
    route.weight_decay = optimizer.number("weight_decay");
  }
  return route;
}

}  // namespace

std::vector<RoutingRule> default_routing() { return {{"*", 2, 2, "matrix"}, {"*", 0, 0, "adamw"}}; }

std::vector<RoutingRule> parse_routing(const Json& value, const std::string& where) {
  if (!value.is_array())
    throw Error(where,
                "must be a list of rules such as {\"pattern\":\"fc.weight\",\"rule\":\"adamw\"}");
  std::vector<RoutingRule> rules;
  for (const Json& element : value.get_array()) {
    Fields fields(element, where + "[" + std::to_string(rules.size()) + "]");
    RoutingRule rule;
    rule.pattern = fields.text("pattern", rule.pattern);
    rule.dimensions = fields.integer("dimensions", 0);
    rule.smallest_side = fields.integer("smallest_side", 0);
    rule.rule = fields.text("rule");
    fields.finish();
    require_at_least(static_cast<double>(rule.dimensions), 0, fields.where("dimensions"));
    require_at_least(static_cast<double>(rule.smallest_side), 0, fields.where("smallest_side"));
    require_one_of(rule.rule, {"matrix", "adamw", "frozen"}, fields.where("rule"));
    rules.push_back(rule);
  }
  const auto rest = default_routing();
  rules.insert(rules.end(), rest.begin(), rest.end());
  return rules;
}

std::vector<Route> route(const std::vector<ParameterShape>& parameters,
                         const OptimizerConfig& optimizer, const std::vector<RoutingRule>& rules,
                         const std::string& where) {
  std::vector<Route> table;
  std::vector<bool> used(rules.size(), false);
  for (const ParameterShape& parameter : parameters) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const RoutingRule& each) {
      return matches(each, parameter);
    });
    if (rule == rules.end()) {
      throw Error(where, "no rule matches " + parameter.name +
                             "; add a rule for it, or a last one for \"*\"");
    }
    used[rule - rules.begin()] = true;
    table.push_back(make_route(parameter, optimizer, rule->rule, where));
  }
  for (size_t i = 0; i < rules.size(); ++i) {
    if (used[i] || rules[i].pattern == "*") continue;
    throw Error(where, "the rule for \"" + rules[i].pattern +
                           "\" decides no tensor: none matches, or earlier rules "
                           "take them all; correct the pattern, or move the rule up");
  }
  return table;
}

JsonArray to_json(const std::vector<Route>& table) {
  JsonArray rows;
  for (const Route& route : table) {
    rows.push_back(JsonObject{{"name", route.name},
                              {"shape", JsonArray(route.shape.begin(), route.shape.end())},
                              {"rule", route.rule},
                              {"learning_rate", route.learning_rate},
                              {"weight_decay", route.weight_decay}});
  }
  return rows;
}

std::vector<Route> routes_from_json(const Json& value, const std::string& where) {
  if (!value.is_array()) throw Error(where, "must be a list of routes");
  std::vector<std::string> choices = {"frozen"};
  for (const OptimizerKind& kind : optimizer_kinds()) choices.push_back(kind.matrix_rule);
  std::vector<Route> table;
  for (const Json& element : value.get_array()) {
    Fields fields(element, where + "[" + std::to_string(table.size()) + "]");
    Route route;
    route.name = fields.text("name");
    route.shape = fields.integers("shape");
    route.rule = fields.text("rule");
    route.learning_rate = fields.number("learning_rate");
    route.weight_decay = fields.number("weight_decay");
    fields.finish();
    require_one_of(route.rule, choices, fields.where("rule"));
    table.push_back(std::move(route));
  }
  return table;
}

double muon_scale(const std::string& mode, int64_t rows, int64_t cols) {
  const double m = static_cast<double>(rows), n = static_cast<double>(cols);  // 6/4 is 1.5, not 1
  if (mode == "original") return std::sqrt(std::max(1.0, m / n));
  if (mode == "match_rms") return 0.2 * std::sqrt(std::max(m, n));
  if (mode == "spectral") return std::sqrt(m / n);
  throw Error("scale", "'" + mode + "' is not known; choose one of: original match_rms spectral");
}

}  // namespace draftlab
