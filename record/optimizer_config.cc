#include "record/optimizer_config.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/number_text.h"

namespace draftlab {
namespace {

// Below 1, so that a bias correction 1 - beta^t is never 0.
constexpr double kLargestDecayRate = 0.999999;

OptimizerOption learning_rate(const std::string& prefix, double fallback) {
  return {prefix + "learning_rate", fallback, 0, 10, {}, "base rate; the schedule multiplies it"};
}

std::vector<OptimizerOption> adamw_options(const std::string& prefix, double rate, double beta2,
                                           double epsilon, double weight_decay) {
  return {
      learning_rate(prefix, rate),
      {prefix + "beta1", 0.9, 0, kLargestDecayRate, {}, "decay of the mean gradient"},
      {prefix + "beta2", beta2, 0, kLargestDecayRate, {}, "decay of the mean squared gradient"},
      {prefix + "epsilon", epsilon, 1e-30, 1, {}, "added to the root of the mean squared gradient"},
      {prefix + "weight_decay", weight_decay, 0, 10, {}, "decoupled: w *= 1 - rate * weight_decay"},
  };
}

// The options of an optimizer that orthogonalizes matrices and leaves the rest to AdamW, whose
// defaults are those that Keller Jordan's Muon has for its partner.
std::vector<OptimizerOption> muon_options(int64_t steps, int64_t fewest_steps,
                                          std::vector<OptimizerOption> own = {}) {
  std::vector<OptimizerOption> options = {
      learning_rate("", 0.02),
      {"momentum", 0.95, 0, kLargestDecayRate, {}, "decay of the mean gradient"},
      {"nesterov", true, 0, 0, {}, "look one momentum step ahead"},
      {"weight_decay",
       0.0,
       0,
       10,
       {},
       "decoupled: w *= 1 - learning_rate * weight_decay, whatever the scale"},
      {"scale",
       "original",
       0,
       0,
       {"original", "match_rms", "spectral"},
       "factor on the rate for an m x n matrix: sqrt(max(1, m/n)), 0.2 sqrt(max(m, n)), sqrt(m/n)"},
      {"steps",
       steps,
       static_cast<double>(fewest_steps),
       50,
       {},
       "iterations of the orthogonalization"},
      {"epsilon",
       "scale_free",
       0,
       0,
       {"scale_free", "published"},
       "scale_free: divide by the largest entry first, so that tiny gradients keep their "
       "direction; "
       "published: only the epsilon of the source"},
  };
  options.insert(options.end(), own.begin(), own.end());
  const auto partner = adamw_options("adamw.", 3e-4, 0.95, 1e-10, 0);
  options.insert(options.end(), partner.begin(), partner.end());
  return options;
}

const OptimizerOption* find_option(const OptimizerKind& kind, const std::string& key) {
  const auto found = std::find_if(kind.options.begin(), kind.options.end(),
                                  [&](const OptimizerOption& option) { return option.key == key; });
  return found == kind.options.end() ? nullptr : &*found;
}

bool is_group(const OptimizerKind& kind, const std::string& key) {
  return std::any_of(kind.options.begin(), kind.options.end(), [&](const OptimizerOption& option) {
    return option.key.starts_with(key + ".");
  });
}

// One plain value of an option, in the option's own type, so that 1 and 1.0 are the same point.
// `where` is the optimizer's place.
Json read_value(const OptimizerOption& option, const Json& value, const std::string& where) {
  const Json wrapped = JsonObject{{option.key, value}};
  Fields fields(wrapped, where);  // checks the type and words the error
  if (option.fallback.is_bool()) return fields.boolean(option.key);
  if (option.fallback.is_string()) {
    const std::string text = fields.text(option.key);
    require_one_of(text, option.choices, fields.where(option.key));
    return Json(text);
  }
  const bool whole = option.fallback.is_int64();
  const double number =
      whole ? static_cast<double>(fields.integer(option.key)) : fields.number(option.key);
  if (option.low != 0 || option.high != 0) {
    require_between(number, option.low, option.high, fields.where(option.key));
  }
  return whole ? Json(static_cast<int64_t>(number)) : Json(number);
}

// The values to try for one option.
struct Axis {
  const OptimizerOption* option;
  std::vector<Json> values;
};

// Reads the options of `object` in its own order. `root` is the whole optimizer, `prefix` the path
// inside of it. Without `notices` a list is an error.
void read_axes(const OptimizerKind& kind, const Fields& root, const JsonObject& object,
               const std::string& prefix, std::vector<std::string>* notices,
               std::vector<Axis>& axes) {
  for (const auto& field : object) {
    const std::string key = prefix + std::string(field.key());
    if (key == "kind") continue;
    const std::string here = root.where(key);
    const OptimizerOption* option = find_option(kind, key);
    if (option == nullptr) {
      if (is_group(kind, key)) {
        if (!field.value().is_object()) throw Error(here, "must be an object of options");
        read_axes(kind, root, field.value().get_object(), key + ".", notices, axes);
        continue;
      }
      std::string known;
      for (const OptimizerOption& each : kind.options)
        known += (known.empty() ? "" : ", ") + each.key;
      throw Error(here, "is not an option of " + kind.name + "; its options are " + known);
    }
    Axis axis{option, {}};
    const JsonArray* list = notices ? field.value().if_array() : nullptr;
    if (list == nullptr) {
      axis.values.push_back(read_value(*option, field.value(), root.where()));
    } else if (list->empty()) {
      throw Error(
          here, "is an empty list; give at least one value, or leave the key out for the default");
    } else {
      for (const Json& element : *list) {
        Json value = read_value(*option, element, root.where());
        if (std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end()) {
          axis.values.push_back(std::move(value));
        } else {
          notices->push_back(here + ": " + canonical(value) +
                             " is listed more than once and runs once");
        }
      }
    }
    axes.push_back(std::move(axis));
  }
}

void set_option(JsonObject& options, const std::string& key, const Json& value) {
  const size_t dot = key.find('.');
  if (dot == std::string::npos) {
    options[key] = value;
  } else {
    Json& group = options[key.substr(0, dot)];
    if (!group.is_object()) group.emplace_object();
    set_option(group.get_object(), key.substr(dot + 1), value);
  }
}

const Json& get_option(const OptimizerConfig& config, const std::string& key) {
  const JsonObject* object = &config.options;
  for (size_t start = 0;;) {
    const size_t dot = key.find('.', start);
    const Json* value = object->if_contains(key.substr(start, dot - start));
    if (value == nullptr) throw Error(config.kind, "has no option " + key);
    if (dot == std::string::npos) return *value;
    object = &value->as_object();
    start = dot + 1;
  }
}

std::vector<OptimizerConfig> read_grid(const Json& value, const std::string& where,
                                       std::vector<std::string>* notices) {
  Fields fields(value, where);
  const OptimizerKind& kind = optimizer_kind(fields.text("kind"), fields.where("kind"));
  std::vector<Axis> axes;
  read_axes(kind, fields, value.get_object(), "", notices, axes);

  OptimizerConfig defaults{kind.name, {}};
  for (const OptimizerOption& option : kind.options) {
    const bool given = std::any_of(axes.begin(), axes.end(),
                                   [&](const Axis& axis) { return axis.option == &option; });
    if (option.fallback.is_null() && !given)
      throw Error(fields.where(option.key), "is missing; add this key");
    set_option(defaults.options, option.key, option.fallback);
  }
  std::vector<OptimizerConfig> grid = {defaults};
  for (const Axis& axis : axes) {
    std::vector<OptimizerConfig> finer;
    for (const OptimizerConfig& point : grid) {
      for (const Json& choice : axis.values) {
        finer.push_back(point);
        set_option(finer.back().options, axis.option->key, choice);
      }
    }
    grid = std::move(finer);
  }
  return grid;
}

}  // namespace

const std::vector<OptimizerKind>& optimizer_kinds() {
  static const std::vector<OptimizerKind> kinds = {
      {"adamw", "Adam with decoupled weight decay, on every tensor",
       "Loshchilov and Hutter 2019, arXiv 1711.05101; defaults of torch.optim.AdamW", "adamw",
       adamw_options("", 1e-3, 0.999, 1e-8, 1e-2)},
      {"muon", "momentum, orthogonalized by Newton-Schulz, on matrices; AdamW on the rest",
       "Jordan et al. 2024, github.com/KellerJordan/Muon", "muon", muon_options(5, 1)},
      {"normuon", "Muon with rows rescaled by their running mean square",
       "Li et al. 2025, arXiv 2510.05491; defaults of github.com/zichongli5/NorMuon", "normuon",
       muon_options(
           5, 1,
           {{"beta2", 0.95, 0, kLargestDecayRate, {}, "decay of the mean square of each row"}})},
      // Its table of coefficients is made for the whole chain, so fewer steps are refused.
      {"turbo_muon", "Muon with rows scaled before a shorter Newton-Schulz",
       "Boissin et al. 2025, arXiv 2512.04632; github.com/thib-s/flash-newton-schulz", "turbo_muon",
       muon_options(4, 4)},
  };
  return kinds;
}

const OptimizerKind& optimizer_kind(const std::string& name, const std::string& where) {
  const auto& kinds = optimizer_kinds();
  std::vector<std::string> names;
  for (const OptimizerKind& kind : kinds) names.push_back(kind.name);
  require_one_of(name, names, where);
  return *std::find_if(kinds.begin(), kinds.end(),
                       [&](const OptimizerKind& kind) { return kind.name == name; });
}

double OptimizerConfig::number(const std::string& key) const {
  return json_number(get_option(*this, key), key);
}

int64_t OptimizerConfig::integer(const std::string& key) const {
  return get_option(*this, key).as_int64();
}

bool OptimizerConfig::boolean(const std::string& key) const {
  return get_option(*this, key).as_bool();
}

std::string OptimizerConfig::text(const std::string& key) const {
  return std::string(get_option(*this, key).as_string());
}

OptimizerConfig parse_optimizer_config(const Json& value, const std::string& where) {
  return read_grid(value, where, nullptr).front();
}

JsonObject to_json(const OptimizerConfig& config) {
  JsonObject object{{"kind", config.kind}};
  object.insert(config.options.begin(), config.options.end());
  return object;
}

std::vector<OptimizerConfig> parse_optimizer_grid(const Json& value, const std::string& where,
                                                  std::vector<std::string>& notices) {
  return read_grid(value, where, &notices);
}

}  // namespace draftlab
