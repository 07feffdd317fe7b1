#include "record/question.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest_name.h"

namespace draftlab {
namespace {

void require_arm(const std::string& name, const std::vector<std::string>& arms,
                 const std::string& where) {
  if (std::ranges::find(arms, name) != arms.end()) return;
  const std::string nearest = nearest_name(name, arms);
  throw Error(where, "'" + name + "' is no arm of this sweep" +
                         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

bool is_same(const Question& a, const Question& b) {
  return a.metric == b.metric &&
         ((a.arm == b.arm && a.against == b.against) || (a.arm == b.against && a.against == b.arm));
}

}  // namespace

std::vector<Question> parse_questions(const Json& value, const std::string& where,
                                      const std::vector<std::string>& arms,
                                      const std::string& metric) {
  if (!value.is_array() || value.get_array().empty())
    throw Error(where, "must be a list of at least one {\"arm\": NAME, \"against\": NAME}");
  std::vector<Question> questions;
  for (const Json& each : value.get_array()) {
    const std::string here = where + "[" + std::to_string(questions.size()) + "]";
    Fields fields(each, here);
    Question question{fields.text("arm"), fields.text("against"),
                      fields.has("measure") ? fields.text("measure") : metric};
    fields.finish();
    require_arm(question.arm, arms, fields.where("arm"));
    require_arm(question.against, arms, fields.where("against"));
    require_one_of(question.metric, {"val_loss", "acceptance_length"}, fields.where("measure"));
    if (question.arm == question.against) throw Error(here, "asks an arm against itself; name two");
    for (const Question& before : questions) {
      if (is_same(before, question)) throw Error(here, "is asked before; remove one");
    }
    questions.push_back(std::move(question));
  }
  return questions;
}

}  // namespace draftlab
