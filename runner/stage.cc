#include "runner/stage.h"

#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"
#include "record/option.h"
#include "record/schedule.h"

namespace draftlab {
namespace {

// A value or a list of values.
std::vector<Json> listed(const Json& value, const std::string& where) {
  const JsonArray* list = value.if_array();
  if (list == nullptr) return {value};
  if (list->empty()) throw Error(where, "is an empty list; give at least one value");
  return {list->begin(), list->end()};
}

// A step, {"training": share of all steps} or {"warmup": share of the warm-up}.
int64_t read_at(const Json& value, const TrainingConfig& training, const std::string& where) {
  double step = 0;
  if (value.is_object()) {
    Fields fields(value, where);
    if (fields.has("training") == fields.has("warmup")) {
      throw Error(where, "give a step, {\"training\": SHARE} or {\"warmup\": SHARE}");
    }
    const char* of = fields.has("training") ? "training" : "warmup";
    const double share = fields.number(of);
    fields.finish();
    require_between(share, 0, 1, fields.where(of));
    const int64_t steps =
        fields.has("training") ? training.steps : schedule_of(training).warmup_end;
    step = std::floor(share * static_cast<double>(steps));
  } else {
    const Json wrapped = JsonObject{{"at", value}};
    step = static_cast<double>(Fields(wrapped, where).integer("at"));
  }
  if (step < 1 || step >= static_cast<double>(training.steps)) {
    throw Error(where, "is step " + number_text(step) +
                           "; a switch has to lie between step 1 and " +
                           std::to_string(training.steps - 1));
  }
  return static_cast<int64_t>(step);
}

// The stages that one switch can begin: every combination of its lists. What it does not name stays
// as in `before`.
std::vector<Stage> read_switch(const Json& value, const Stage& before,
                               const TrainingConfig& training, const std::string& where,
                               std::vector<std::string>& notices) {
  Fields fields(value, where);
  std::vector<int64_t> steps, rewarmups = {0};
  std::vector<std::string> states = {"transfer"}, schedules = {"continue"};
  for (const Json& at : listed(fields.any("at"), fields.where("at")))
    steps.push_back(read_at(at, training, fields.where("at")));
  const auto texts = [&](const char* key, std::vector<std::string>& values,
                         const std::vector<std::string>& choices) {
    if (!fields.has(key)) return;
    values.clear();
    for (const Json& text : listed(fields.any(key), fields.where(key))) {
      if (!text.is_string()) throw Error(fields.where(key), "must be text");
      values.emplace_back(text.get_string());
      require_one_of(values.back(), choices, fields.where(key));
    }
  };
  texts("state", states, {"transfer", "reset"});
  texts("schedule", schedules, {"continue", "restart"});
  if (fields.has("rewarmup")) {
    rewarmups.clear();
    for (const Json& count : listed(fields.any("rewarmup"), fields.where("rewarmup"))) {
      const Json wrapped = JsonObject{{"rewarmup", count}};
      rewarmups.push_back(Fields(wrapped, where).integer("rewarmup"));
      require_between(static_cast<double>(rewarmups.back()), 0, static_cast<double>(training.steps),
                      fields.where("rewarmup"));
    }
  }
  std::vector<OptimizerConfig> optimizers = {before.optimizer};
  if (fields.has("optimizer"))
    optimizers = parse_optimizer_grid(fields.any("optimizer"), fields.where("optimizer"), notices);
  const std::vector<RoutingRule> routing =
      fields.has("routing") ? parse_routing(fields.any("routing"), fields.where("routing"))
                            : before.routing;
  fields.finish();

  std::vector<Stage> stages;
  for (const int64_t step : steps) {
    if (step <= before.from_step) {
      throw Error(fields.where("at"),
                  "is step " + std::to_string(step) +
                      ", which does not lie behind the switch before it (step " +
                      std::to_string(before.from_step) + ")");
    }
    for (const std::string& state : states) {
      for (const int64_t rewarmup : rewarmups) {
        for (const std::string& schedule : schedules) {
          for (const OptimizerConfig& optimizer : optimizers) {
            const int64_t from = schedule == "restart" ? step : before.start.schedule_from;
            stages.push_back({step, optimizer, routing, {state, rewarmup, from}});
          }
        }
      }
    }
  }
  return stages;
}

// "learning_rate" -> "lr", "adamw.learning_rate" -> "adamw.lr"
std::string short_key(const std::string& key) {
  constexpr std::string_view kLong = "learning_rate";
  return key.ends_with(kLong) ? key.substr(0, key.size() - kLong.size()) + "lr" : key;
}

using Labels = std::vector<std::pair<std::string, std::string>>;

// What can tell stage `s` of each point from that of the others.
void add_labels(const std::vector<ArmPoint>& points, size_t s, std::vector<Labels>& labels) {
  std::vector<OptimizerConfig> optimizers;
  for (const ArmPoint& point : points) optimizers.push_back(point.stages[s].optimizer);
  const std::vector<std::string> keys = distinguishing_options(optimizers);
  const std::string prefix = s == 0 ? "" : s == 1 ? "then." : "then" + std::to_string(s) + ".";
  for (size_t i = 0; i < points.size(); ++i) {
    const Stage& stage = points[i].stages[s];
    if (s > 0) {
      labels[i].emplace_back(prefix + "at", std::to_string(stage.from_step));
      labels[i].emplace_back(prefix + "state", stage.start.state);
      labels[i].emplace_back(prefix + "rewarmup", std::to_string(stage.start.rewarmup));
      labels[i].emplace_back(prefix + "schedule_from", std::to_string(stage.start.schedule_from));
    }
    for (const std::string& key : keys) {
      if (const Json* value = stage.optimizer.find(key))
        labels[i].emplace_back(prefix + short_key(key), option_text(*value));
    }
  }
}

}  // namespace

void label_points(std::vector<ArmPoint>& points) {
  std::vector<Labels> labels(points.size());
  for (size_t s = 0; s < points[0].stages.size(); ++s) add_labels(points, s, labels);
  std::set<std::pair<std::string, std::string>> first(labels[0].begin(), labels[0].end());
  std::set<std::string> varying;
  for (const Labels& all : labels) {
    const std::set<std::pair<std::string, std::string>> these(all.begin(), all.end());
    for (const auto& label : all)
      if (!first.contains(label)) varying.insert(label.first);
    for (const auto& label : first)  // or an option that only some points have
      if (!these.contains(label)) varying.insert(label.first);
  }
  for (size_t i = 0; i < points.size(); ++i) {
    points[i].label.clear();
    for (const auto& [key, text] : labels[i]) {
      if (!varying.contains(key)) continue;
      points[i].label += (points[i].label.empty() ? "" : " ") + key + "=" + text;
    }
  }
}

std::vector<ArmPoint> arm_points(const std::vector<OptimizerConfig>& optimizers,
                                 const std::vector<RoutingRule>& routing, const JsonArray& switches,
                                 const TrainingConfig& training, const std::string& where,
                                 std::vector<std::string>& notices) {
  std::vector<ArmPoint> points;
  for (const OptimizerConfig& optimizer : optimizers)
    points.push_back({{{0, optimizer, routing, {}}}, ""});
  for (size_t i = 0; i < switches.size(); ++i) {
    const std::string here = where + ".switches[" + std::to_string(i) + "]";
    std::vector<ArmPoint> longer;
    for (const ArmPoint& point : points) {
      std::vector<std::string> once;  // the same notices for every point
      for (Stage& stage : read_switch(switches[i], point.stages.back(), training, here, once)) {
        longer.push_back(point);
        longer.back().stages.push_back(std::move(stage));
      }
      if (&point == &points.front()) notices.insert(notices.end(), once.begin(), once.end());
    }
    points = std::move(longer);
  }
  label_points(points);
  return points;
}

}  // namespace draftlab
