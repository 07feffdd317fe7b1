#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace draftlab {

// What a sweep was made to answer: is `arm` better than `against` in this measure? All questions of
// a sweep are one family: a claim needs a p that is adjusted for all of them.
struct Question {
  std::string arm, against;
  std::string metric;  // "val_loss" or "acceptance_length"
};

// The list "questions" of a sweep with these arms. `metric`: where a question names no measure.
// Throws Error with the place for an unknown arm or measure, and for a question asked twice.
std::vector<Question> parse_questions(const Json& value, const std::string& where,
                                      const std::vector<std::string>& arms,
                                      const std::string& metric);

}  // namespace draftlab
