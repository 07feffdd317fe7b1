#pragma once

#include <string>
#include <vector>

#include "reports/study/study.h"

namespace draftlab {

struct Statement {
  std::string topic;  // "Acceptance length at equal steps"
  std::string sentence;
};

// The answer, one sentence per measure and view: which arm is ahead, by how much over the same
// seeds, and whether that can be claimed (comparison.h). Arms that a check refuses are left out;
// where fewer than two are left there is no winner, and the sentence says why. Where arms differ in
// what they share with some only (two lengths of training), those that share it are compared.
std::vector<Statement> answer(const Study& study);

}  // namespace draftlab
