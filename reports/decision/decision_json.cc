// A decision for machines.
#include "reports/decision/decision.h"

namespace draftlab {
namespace {

JsonObject number_json(const PillarNumber& number) {
  return {{"what", number.what},
          {"value", number.value},
          {"low", number.low},
          {"high", number.high},
          {"n", number.n}};
}

JsonArray balances_json(const Pillar& pillar) {
  JsonArray balances;
  for (const Balance& balance : pillar.balances) {
    JsonObject object = number_json(balance.number);
    object["threshold"] = balance.threshold;
    object["above_is_for"] = balance.above_is_for;
    balances.push_back(std::move(object));
  }
  return balances;
}

JsonArray what_if_json(const Decision& decision) {
  JsonArray all;
  for (const WhatIf& one : decision.what_if) {
    all.push_back(JsonObject{{"step_ratio", one.step_ratio},
                             {"seeds", one.seeds},
                             {"time_ratio", number_json(one.time)},
                             {"verdict", to_text(one.verdict)}});
  }
  return all;
}

}  // namespace

Json decision_json(const Decision& decision, const DecisionContext& context,
                   const std::vector<Reading>& others) {
  JsonArray pillars, choices;
  for (const Pillar& pillar : decision.pillars) {
    JsonArray numbers, limits(pillar.limits.begin(), pillar.limits.end());
    for (const PillarNumber& number : pillar.numbers) {
      numbers.push_back(number_json(number));
    }
    pillars.push_back(JsonObject{{"name", pillar.name},
                                 {"question", pillar.question},
                                 {"numbers", std::move(numbers)},
                                 {"balances", balances_json(pillar)},
                                 {"from", JsonArray(pillar.origins.begin(), pillar.origins.end())},
                                 {"rule", pillar.rule},
                                 {"verdict", to_text(pillar.verdict)},
                                 {"reason", pillar.reason},
                                 {"margin", pillar.margin},
                                 {"settle", pillar.settle},
                                 {"limits", std::move(limits)}});
  }
  for (const Decision::Choice& choice : decision.choices) {
    choices.push_back(JsonObject{
        {"name", choice.name}, {"verdict", to_text(choice.verdict)}, {"reason", choice.reason}});
  }
  JsonArray readings;
  for (const Reading& other : others) {
    JsonObject object = decision_json(other.decision, other.context).as_object();
    object["reading"] = other.context.reading;
    readings.push_back(std::move(object));
  }
  return JsonObject{
      {"context", context.name},
      {"reading", context.reading},
      {"readings", std::move(readings)},
      {"current", context.current},
      {"candidate", context.candidate},
      {"recommendation", decision.recommendation},
      {"weakest_pillar", decision.pillars[decision.weakest].name},
      {"choices", std::move(choices)},
      {"disagreements", JsonArray(decision.disagreements.begin(), decision.disagreements.end())},
      {"what_if", what_if_json(decision)},
      {"turning_step_ratio", decision.turning_step_ratio},
      {"pillars", std::move(pillars)}};
}

}  // namespace draftlab
