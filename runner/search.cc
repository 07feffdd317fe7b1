#include "runner/search.h"

#include <algorithm>
#include <boost/random/sobol.hpp>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"
#include "base/random.h"

namespace draftlab {
namespace {

enum class Kind { kLogUniform, kUniform, kChoice };

struct Dimension {
  std::vector<std::string> path;  // "adamw", "beta1"
  Kind kind;
  double low = 0, high = 0;  // of a range
  JsonArray choices;
};

// The object's only key, if that is the name of a kind; "" otherwise.
std::string kind_of(const Json& value) {
  const JsonObject* object = value.if_object();
  if (object == nullptr || object->size() != 1) return "";
  const std::string key(object->begin()->key());
  return key == "log_uniform" || key == "uniform" || key == "choice" ? key : "";
}

Dimension read_dimension(const std::vector<std::string>& path, const std::string& kind,
                         const Json& value, const std::string& where) {
  const JsonArray* list = value.if_array();
  Dimension dimension{path, kind == "choice"    ? Kind::kChoice
                            : kind == "uniform" ? Kind::kUniform
                                                : Kind::kLogUniform};
  if (dimension.kind == Kind::kChoice) {
    if (list == nullptr || list->size() < 2)
      throw Error(where, "must be a list of at least two values to choose from");
    dimension.choices = *list;
    return dimension;
  }
  if (list == nullptr || list->size() != 2)
    throw Error(where, "must be [a, b], the ends of the range");
  dimension.low = json_number(list->at(0), where);
  dimension.high = json_number(list->at(1), where);
  if (!(dimension.low < dimension.high) || !std::isfinite(dimension.high - dimension.low))
    throw Error(where, "must be [a, b] with a below b");
  if (dimension.kind == Kind::kLogUniform && dimension.low <= 0)
    throw Error(where, "must lie above 0: a logarithm has no value elsewhere");
  return dimension;
}

void collect(const Json& options, const std::vector<std::string>& parents, const std::string& where,
             std::vector<Dimension>& dimensions, std::string& list) {
  const JsonObject* object = options.if_object();
  if (object == nullptr) return;
  for (const auto& field : *object) {
    std::vector<std::string> path = parents;
    path.emplace_back(field.key());
    const std::string here = where + "." + path.back();
    if (const std::string kind = kind_of(field.value()); !kind.empty()) {
      dimensions.push_back(read_dimension(path, kind, field.value().at(kind), here + "." + kind));
    } else if (field.value().is_array()) {
      list = here;
    } else {
      collect(field.value(), path, here, dimensions, list);
    }
  }
}

// The learning rate first, the rest by name.
std::vector<Dimension> dimensions_of(const Json& optimizer, const std::string& where) {
  std::vector<Dimension> dimensions;
  std::string list;
  collect(optimizer, {}, where, dimensions, list);
  if (!dimensions.empty() && !list.empty())
    throw Error(list, "is a list beside a range; give {\"choice\": [...]}, or lists alone");
  std::ranges::sort(dimensions, {}, [](const Dimension& d) {
    return std::pair(d.path != std::vector<std::string>{"learning_rate"}, d.path);
  });
  return dimensions;
}

Json value_at(const Dimension& dimension, double place) {
  if (dimension.kind == Kind::kChoice) {
    const double count = static_cast<double>(dimension.choices.size());
    return dimension.choices[static_cast<size_t>(place * count)];
  }
  const double value = dimension.kind == Kind::kUniform
                           ? dimension.low + place * (dimension.high - dimension.low)
                           : dimension.low * std::pow(dimension.high / dimension.low, place);
  return std::clamp(parse_number(significant(value, 3), "search"), dimension.low, dimension.high);
}

void set_option(Json& options, const std::vector<std::string>& path, Json value) {
  Json* place = &options;
  for (const std::string& key : path) place = &place->get_object()[key];
  *place = std::move(value);
}

}  // namespace

bool has_search(const Json& optimizer) {
  if (!kind_of(optimizer).empty()) return true;
  const JsonObject* object = optimizer.if_object();
  return object != nullptr &&
         std::ranges::any_of(*object, [](const auto& field) { return has_search(field.value()); });
}

std::vector<Json> search_points(const Json& optimizer, int64_t trials, int64_t seed,
                                const std::string& where) {
  const std::vector<Dimension> dimensions = dimensions_of(optimizer, where);
  boost::random::sobol sobol(dimensions.size());
  std::vector<double> shifts;
  for (const Dimension& dimension : dimensions) {
    const auto index = static_cast<uint64_t>(&dimension - dimensions.data());
    shifts.push_back(Random(static_cast<uint64_t>(seed), "search", index).uniform());
  }
  std::vector<Json> points;
  std::set<std::string> known;
  for (int64_t i = 0; i < trials; ++i) {
    Json point = optimizer;
    for (size_t d = 0; d < dimensions.size(); ++d) {
      const double place = std::ldexp(static_cast<double>(sobol() >> 11), -53) + shifts[d];
      set_option(point, dimensions[d].path, value_at(dimensions[d], place - std::floor(place)));
    }
    known.insert(canonical(point));
    points.push_back(std::move(point));
  }
  if (known.size() < points.size()) {
    throw Error(where,
                "gives " + std::to_string(known.size()) + " different settings for " +
                    std::to_string(trials) +
                    " trials, and every arm gets as many; widen a range, or lower \"trials\"");
  }
  return points;
}

}  // namespace draftlab
