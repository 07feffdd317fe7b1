#include "reports/decision/decision.h"

namespace draftlab {

Json decision_json(const Decision& decision, const DecisionContext& context) {
  JsonArray pillars, choices;
  for (const Pillar& pillar : decision.pillars) {
    JsonArray numbers, limits(pillar.limits.begin(), pillar.limits.end());
    for (const PillarNumber& number : pillar.numbers) {
      numbers.push_back(JsonObject{{"what", number.what},
                                   {"value", number.value},
                                   {"low", number.low},
                                   {"high", number.high},
                                   {"n", number.n}});
    }
    pillars.push_back(JsonObject{{"name", pillar.name},
                                 {"question", pillar.question},
                                 {"numbers", std::move(numbers)},
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
  return JsonObject{{"context", context.name},
                    {"current", context.current},
                    {"candidate", context.candidate},
                    {"recommendation", decision.recommendation},
                    {"weakest_pillar", decision.pillars[decision.weakest].name},
                    {"choices", std::move(choices)},
                    {"pillars", std::move(pillars)}};
}

}  // namespace draftlab
