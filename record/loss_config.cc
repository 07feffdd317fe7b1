#include "record/loss_config.h"

#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"
#include "record/losses/kinds.h"

namespace draftlab {
namespace {

constexpr double kLargestWeight = 1e6;
const std::vector<std::string> kNormalizers = {"weights", "labels", "sequences"};

void read_normalize(Fields& fields, LossConfig& config) {
  config.normalize = fields.text("normalize", config.normalize);
  require_one_of(config.normalize, kNormalizers, fields.where("normalize"));
}

Json read_option(Fields& fields, const LossOption& option) {
  if (option.choices.empty()) {
    const double value = fields.number(option.key, option.fallback.as_double());
    require_between(value, option.low, option.high, fields.where(option.key));
    return value;
  }
  const std::string value = fields.text(option.key, std::string_view(option.fallback.get_string()));
  require_one_of(value, option.choices, fields.where(option.key));
  return Json(value);
}

LossConfig read_kind(Fields& fields) {
  const std::string name = fields.text("kind");
  const LossKind& kind = loss_kind(name, fields.where("kind"));
  LossConfig config{.terms = {{name, 1}}, .normalize = kind.normalize};
  read_normalize(fields, config);
  for (const LossOption& option : kind.options)
    config.options[option.key] = read_option(fields, option);
  fields.finish();
  return config;
}

LossConfig read_mixture(const JsonObject& object, Fields& fields) {
  LossConfig config{.terms = {}};
  read_normalize(fields, config);
  for (const auto& field : object) {
    const std::string name(field.key());
    if (name == "normalize") continue;
    if (loss_kind(name, fields.where(name)).weighs_slots) {
      throw Error(
          fields.where(name),
          "weighs the slots itself and is no part of a mixture; give {\"kind\": \"" + name + "\"}");
    }
    const double weight = fields.number(name);
    require_above(weight, 0, fields.where(name));
    require_between(weight, 0, kLargestWeight, fields.where(name));
    config.terms.push_back({name, weight});
  }
  if (config.terms.empty())
    throw Error(fields.where(), "names no loss; give {\"kl\": 0.5, \"ce\": 0.5} or the like");
  const auto place = [](const LossTerm& term) {
    return std::ranges::find(loss_kinds(), term.kind, &LossKind::name) - loss_kinds().begin();
  };
  std::ranges::sort(config.terms, {}, place);
  return config;
}

}  // namespace

const std::vector<LossKind>& loss_kinds() {
  static const std::vector<LossKind> kinds = {losses::ce(),  losses::dpace(),    losses::kl(),
                                              losses::rkl(), losses::jsd(),      losses::tv(),
                                              losses::nla(), losses::lk_hybrid()};
  return kinds;
}

std::vector<LossTerm> cross_entropy_alone() { return {{"ce", 1}}; }

const LossKind& loss_kind(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const LossKind& kind : loss_kinds()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  require_one_of(name, names, where);
  throw Error(where, "is no loss");  // not reached
}

bool LossConfig::needs_target() const {
  return std::ranges::any_of(
      terms, [](const LossTerm& term) { return loss_kind(term.kind, "loss").needs_target; });
}

LossConfig parse_loss(const Json& value, const std::string& where) {
  if (value.is_string()) {
    const std::string name(value.get_string());
    loss_kind(name, where);
    const Json wrapped = JsonObject{{"kind", name}};
    Fields fields(wrapped, where);
    return read_kind(fields);
  }
  if (!value.is_object()) {
    throw Error(where,
                "must be the name of a loss, {\"kind\": NAME, ...} or {NAME: WEIGHT, ...}, is " +
                    canonical(value));
  }
  Fields fields(value, where);
  return fields.has("kind") ? read_kind(fields) : read_mixture(value.get_object(), fields);
}

JsonObject to_json(const LossConfig& config) {
  JsonObject object;
  if (config.terms.size() == 1 && config.terms[0].weight == 1) {
    object["kind"] = config.terms[0].kind;
    for (const auto& option : config.options) object[option.key()] = option.value();
  } else {
    for (const LossTerm& term : config.terms) object[term.kind] = term.weight;
  }
  object["normalize"] = config.normalize;
  return object;
}

std::string loss_text(const LossConfig& config) {
  std::string text, usual = "weights";
  for (const LossTerm& term : config.terms) {
    text += (text.empty() ? "" : " + ") + (term.weight == 1 ? "" : number_text(term.weight) + " ") +
            term.kind;
  }
  if (config.terms.size() == 1) {
    const LossKind& kind = loss_kind(config.terms[0].kind, "loss");
    usual = kind.normalize;
    for (const LossOption& option : kind.options) {
      const Json& value = config.options.at(option.key);
      text += " " + option.key + "=" +
              (value.is_string() ? std::string(value.get_string()) : canonical(value));
    }
  }
  return config.normalize == usual ? text : text + " normalize=" + config.normalize;
}

}  // namespace draftlab
