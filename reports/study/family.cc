#include "reports/study/family.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace draftlab {
namespace {

std::vector<Question> usual_questions(const Summary& summary) {
  std::vector<Question> questions;
  const Arm& reference = summary.arms[summary.reference];
  for (const Arm& arm : summary.arms) {
    if (&arm != &reference)
      questions.push_back({arm.name, reference.name, kind_of(summary.chosen_by).key});
  }
  return questions;
}

// An arm, or the one that it is a copy of.
const std::string& original(const Summary& summary, const std::string& name) {
  for (const Arm& arm : summary.arms) {
    if (arm.name == name) return arm.copy_of ? summary.arms[*arm.copy_of].name : name;
  }
  return name;
}

// Leaves out what asks about a copy of an arm and itself, and what was asked before under the name
// of a copy: one training is one piece of evidence.
void drop_repeated(const Summary& summary, std::vector<Question>& questions) {
  std::set<std::tuple<std::string, std::string, std::string>> known;
  std::erase_if(questions, [&](const Question& question) {
    const auto [a, b] =
        std::minmax(original(summary, question.arm), original(summary, question.against));
    return a == b || !known.insert({a, b, question.metric}).second;
  });
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
  drop_repeated(summary, family.questions);
  return family;
}

}  // namespace draftlab
