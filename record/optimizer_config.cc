#include "record/optimizer_config.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "record/hyperball.h"
#include "record/optimizer_kind.h"
#include "record/orthogonalizer.h"

namespace draftlab {
namespace {

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
    if (option.key == "orthogonalizer") orthogonalizer_kind(text, fields.where(option.key));
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
  const Json* value = config.find(key);
  if (value == nullptr) throw Error(config.kind, "has no option " + key);
  return *value;
}

// The value of an option that decides about others, as text; "absent" where there is none.
std::string deciding_text(const OptimizerKind& kind, const std::string& key,
                          const OptimizerConfig& config) {
  const Json* value = config.find(key);
  const OptimizerOption* option = find_option(kind, key);
  if (value == nullptr && option != nullptr && option->absent_by_default) value = &option->fallback;
  if (value == nullptr) return "absent";
  return value->is_string() ? std::string(value->get_string()) : canonical(*value);
}

bool holds(const OptimizerKind& kind, const OptimizerOption& option,
           const OptimizerConfig& config) {
  return option.when_key.empty() ||
         std::find(option.when.begin(), option.when.end(),
                   deciding_text(kind, option.when_key, config)) != option.when.end();
}

// The default of an option, given the options before it.
const Json& fallback(const OptimizerKind& kind, const OptimizerOption& option,
                     const OptimizerConfig& config) {
  const Json* value = &option.fallback;
  for (const OptimizerPreset& preset : kind.presets) {
    if (deciding_text(kind, preset.key, config) != preset.value) continue;
    for (const auto& [key, other] : preset.defaults) {
      if (key == option.key) value = &other;
    }
  }
  return *value;
}

// One point of a grid: `given` holds what the user wrote.
OptimizerConfig resolve(const OptimizerKind& kind, const OptimizerConfig& given,
                        const Fields& fields) {
  OptimizerConfig config{kind.name, {}};
  for (const OptimizerOption& option : kind.options) {
    const Json* value = given.find(option.key);
    if (!holds(kind, option, config)) {
      if (value == nullptr) continue;
      throw Error(fields.where(option.key), "is no option where " + option.when_key + " is " +
                                                deciding_text(kind, option.when_key, config) +
                                                "; leave it out");
    }
    if (value == nullptr) value = &fallback(kind, option, config);
    if (value->is_null()) throw Error(fields.where(option.key), "is missing; add this key");
    if (option.absent_by_default && *value == option.fallback) continue;
    set_option(config.options, option.key, *value);
  }
  require_no_decay(config, fields.where("weight_decay"));
  if (config.has("steps")) {
    const OrthogonalizerKind& how =
        orthogonalizer_kind(config.text("orthogonalizer"), fields.where("orthogonalizer"));
    if (config.integer("steps") < how.fewest_steps) {
      throw Error(fields.where("steps"),
                  "is " + std::to_string(config.integer("steps")) + ", but the " +
                      std::to_string(how.fewest_steps) + " steps of " + how.name +
                      " are made for the whole chain and make no sense cut short; use at least "
                      "that many, or an "
                      "orthogonalizer without this limit (kj5, you5, polar_express)");
    }
  }
  return config;
}

std::vector<OptimizerConfig> read_grid(const Json& value, const std::string& where,
                                       std::vector<std::string>* notices) {
  Fields fields(value, where);
  const OptimizerKind& kind = optimizer_kind(fields.text("kind"), fields.where("kind"));
  std::vector<Axis> axes;
  read_axes(kind, fields, value.get_object(), "", notices, axes);

  std::vector<OptimizerConfig> grid = {{kind.name, {}}};
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
  for (OptimizerConfig& point : grid) point = resolve(kind, point, fields);
  return grid;
}

}  // namespace

const Json* OptimizerConfig::find(const std::string& key) const {
  const JsonObject* object = &options;
  for (size_t start = 0;;) {
    const size_t dot = key.find('.', start);
    const Json* value = object->if_contains(key.substr(start, dot - start));
    if (value == nullptr || dot == std::string::npos) return value;
    object = value->if_object();
    if (object == nullptr) return nullptr;
    start = dot + 1;
  }
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

std::vector<std::string> distinguishing_options(const std::vector<OptimizerConfig>& points) {
  const auto text = [](const OptimizerConfig& point, const std::string& key) {
    const Json* value = point.find(key);
    return value == nullptr ? "" : canonical(*value);
  };
  std::vector<std::string> candidates, keys;
  std::vector<std::string> names;  // of each point, by its kind and the keys so far
  for (const OptimizerConfig& point : points) {
    if (std::find(names.begin(), names.end(), point.kind) == names.end()) {
      for (const OptimizerOption& option : optimizer_kind(point.kind, "optimizer").options)
        candidates.push_back(option.key);
    }
    names.push_back(point.kind);
  }
  for (const std::string& key : candidates) {
    std::map<std::string, std::string> value_of_name;
    bool tells_apart = false;
    for (size_t i = 0; i < points.size(); ++i) {
      const auto [entry, added] = value_of_name.emplace(names[i], text(points[i], key));
      tells_apart |= entry->second != text(points[i], key);
    }
    if (!tells_apart) continue;  // nor would it again, as a candidate of another kind
    keys.push_back(key);
    for (size_t i = 0; i < points.size(); ++i) names[i] += "\n" + text(points[i], key);
  }
  return keys;
}

}  // namespace draftlab
