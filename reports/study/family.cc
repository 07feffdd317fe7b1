#include "reports/study/family.h"

#include <algorithm>

namespace draftlab {
namespace {

std::vector<Question> usual_questions(const Summary& summary) {
  std::vector<Question> questions;
  const Arm& reference = summary.arms[summary.reference];
  for (const Arm& arm : summary.arms) {
    if (&arm != &reference && !arm.copy_of)
      questions.push_back({arm.name, reference.name, kind_of(summary.chosen_by).key});
  }
  return questions;
}

}  // namespace

bool Family::asks(const std::string& a, const std::string& b, Measure measure) const {
  return std::ranges::any_of(questions, [&](const Question& question) {
    return question.metric == kind_of(measure).key &&
           ((question.arm == a && question.against == b) ||
            (question.arm == b && question.against == a));
  });
}

Family family_of(const Study& study) {
  Family family;
  const Summary& summary = study.summary;
  if (summary.arms.empty()) return family;
  const JsonObject* sweep = study.plan.sweep.if_object();
  if (const Json* same = sweep == nullptr ? nullptr : sweep->if_contains("same"))
    family.same = json_number(*same, "same");
  if (const Json* questions = sweep == nullptr ? nullptr : sweep->if_contains("questions")) {
    std::vector<std::string> arms;
    for (const Json& arm : sweep->at("arms").as_array())
      arms.emplace_back(arm.as_object().at("name").as_string());
    family.questions =
        parse_questions(*questions, "questions", arms, kind_of(summary.chosen_by).key);
  } else {
    family.questions = usual_questions(summary);
  }
  return family;
}

}  // namespace draftlab
