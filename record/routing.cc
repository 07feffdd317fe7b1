#include "record/routing.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/number_text.h"
#include "record/optimizer_kind.h"

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

// The rows of each block of a tensor that `rule` decides.
std::vector<int64_t> blocks(const ParameterShape& parameter, const RoutingRule& rule,
                            const std::string& where) {
  const int64_t rows = parameter.shape[0];
  if (rule.split_heads && parameter.head_rows > 0)
    return std::vector<int64_t>(rows / parameter.head_rows, parameter.head_rows);
  if (rule.split.empty()) return {rows};
  const int64_t sum = std::accumulate(rule.split.begin(), rule.split.end(), int64_t{0});
  if (sum != rows) {
    throw Error(where, "the split of the rule for \"" + rule.pattern + "\" sums to " +
                           std::to_string(sum) + " rows, but " + parameter.name + " has " +
                           std::to_string(rows) + "; give blocks that cover it");
  }
  return rule.split;
}

Route make_route(const ParameterShape& parameter, const OptimizerConfig& optimizer,
                 const RoutingRule& rule, const std::string& where) {
  const bool own = rule.rule == "matrix";
  Route route{parameter.name,
              parameter.shape,
              own ? optimizer.kind : rule.rule,
              blocks(parameter, rule, where),
              {},
              0};
  const auto& shape = parameter.shape;
  if (own && shape.size() != 2 && !optimizer_kind(optimizer.kind, where).takes_vectors) {
    throw Error(where, parameter.name + " has " + std::to_string(shape.size()) +
                           " dimension(s), and " + route.rule +
                           " updates matrices only; give it \"adamw\" or \"frozen\"");
  }
  if (route.rule == "frozen") {
    route.learning_rates.assign(route.split.size(), 0);
    return route;
  }
  if (!own && optimizer.kind != "adamw" && !optimizer.has("adamw")) {
    throw Error(where,
                "sends " + parameter.name + " to \"adamw\", but " + optimizer.kind +
                    " updates every tensor itself and has no options for AdamW; say \"matrix\"");
  }
  const OptimizerConfig options = rule_options(optimizer, route);
  route.learning_rates.assign(route.split.size(), options.learning_rate());
  if (shape.size() == 2 && options.has("scale")) {
    for (size_t i = 0; i < route.split.size(); ++i)
      route.learning_rates[i] *= muon_scale(options.text("scale"), route.split[i], shape[1]);
  }
  if (parameter.decays) route.weight_decay = options.number("weight_decay");
  return route;
}

}  // namespace

std::vector<RoutingRule> default_routing(const OptimizerKind& kind) {
  if (!kind.routing.empty()) return kind.routing;
  if (kind.takes_vectors) return {{"*", 0, 0, "matrix"}};
  return {{"*", 2, 2, "matrix"}, {"*", 0, 0, "adamw"}};
}

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
    if (fields.has("split")) {
      const Json& split = fields.any("split");
      if (split.is_string() && split.get_string() == "heads") {
        rule.split_heads = true;
      } else if (split.is_array()) {
        rule.split = fields.integers("split");
        for (const int64_t rows : rule.split)
          require_at_least(static_cast<double>(rows), 1, fields.where("split"));
      } else {
        throw Error(fields.where("split"),
                    "must be \"heads\" or a list of numbers of rows such as [576, 192, 192]");
      }
    }
    fields.finish();
    require_at_least(static_cast<double>(rule.dimensions), 0, fields.where("dimensions"));
    require_at_least(static_cast<double>(rule.smallest_side), 0, fields.where("smallest_side"));
    require_one_of(rule.rule, {"matrix", "adamw", "frozen"}, fields.where("rule"));
    rules.push_back(rule);
  }
  return rules;
}

std::vector<Route> route(const std::vector<ParameterShape>& parameters,
                         const OptimizerConfig& optimizer, const std::vector<RoutingRule>& rules,
                         const std::string& where) {
  std::vector<Route> table;
  std::vector<RoutingRule> all = rules;
  const auto rest = default_routing(optimizer_kind(optimizer.kind, where));  // matches every tensor
  all.insert(all.end(), rest.begin(), rest.end());
  std::vector<bool> used(all.size(), false);
  for (const ParameterShape& parameter : parameters) {
    const auto rule = std::find_if(
        all.begin(), all.end(), [&](const RoutingRule& each) { return matches(each, parameter); });
    used[rule - all.begin()] = true;
    table.push_back(make_route(parameter, optimizer, *rule, where));
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
    rows.push_back(JsonObject{
        {"name", route.name},
        {"shape", JsonArray(route.shape.begin(), route.shape.end())},
        {"rule", route.rule},
        {"split", JsonArray(route.split.begin(), route.split.end())},
        {"learning_rates", JsonArray(route.learning_rates.begin(), route.learning_rates.end())},
        {"weight_decay", route.weight_decay}});
  }
  return rows;
}

std::string split_text(const Route& route) {
  const std::vector<int64_t>& split = route.split;
  if (split.size() == 1) return "-";
  if (std::count(split.begin(), split.end(), split[0]) == static_cast<int64_t>(split.size()))
    return std::to_string(split.size()) + " x " + std::to_string(split[0]);
  std::string text;
  for (const int64_t rows : split) text += (text.empty() ? "" : "+") + std::to_string(rows);
  return text;
}

std::string rates_text(const Route& route) {
  const std::vector<double>& rates = route.learning_rates;
  const bool equal =
      std::count(rates.begin(), rates.end(), rates[0]) == static_cast<int64_t>(rates.size());
  std::string text;
  for (size_t i = 0; i < (equal ? 1 : rates.size()); ++i) {
    // Four digits without trailing zeros: "0.001", "0.03919".
    const std::string rate = number_text(parse_number(significant(rates[i], 4), "rate"));
    text += (i == 0 ? "" : ", ") + rate;
  }
  return text;
}

std::vector<Route> routes_from_json(const Json& value, const std::string& where) {
  if (!value.is_array()) throw Error(where, "must be a list of routes");
  std::vector<std::string> choices = {"frozen"};
  for (const OptimizerKind& kind : optimizer_kinds()) choices.push_back(kind.name);
  std::vector<Route> table;
  for (const Json& element : value.get_array()) {
    Fields fields(element, where + "[" + std::to_string(table.size()) + "]");
    Route route;
    route.name = fields.text("name");
    route.shape = fields.integers("shape");
    route.rule = fields.text("rule");
    route.split = fields.integers("split");
    for (const Json& rate : fields.array("learning_rates"))
      route.learning_rates.push_back(json_number(rate, fields.where("learning_rates")));
    route.weight_decay = fields.number("weight_decay");
    fields.finish();
    require_one_of(route.rule, choices, fields.where("rule"));
    if (route.learning_rates.size() != route.split.size())
      throw Error(fields.where("learning_rates"),
                  "must have one number for each block of the split");
    table.push_back(std::move(route));
  }
  return table;
}

double muon_scale(const std::string& mode, int64_t rows, int64_t cols) {
  const double m = static_cast<double>(rows), n = static_cast<double>(cols);  // 6/4 is 1.5, not 1
  if (mode == "original") return std::sqrt(std::max(1.0, m / n));
  if (mode == "match_rms") return 0.2 * std::sqrt(std::max(m, n));
  if (mode == "spectral") return std::sqrt(m / n);
  if (mode == "rms") return 0.2 * std::sqrt(m * n);
  throw Error("scale",
              "'" + mode + "' is not known; choose one of: original match_rms spectral rms");
}

}  // namespace draftlab
