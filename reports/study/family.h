#pragma once

#include <string>
#include <vector>

#include "record/question.h"
#include "reports/study/study.h"

namespace draftlab {

// The questions that a study may answer with a claim, at equal steps. Everything else is shown
// without one.
struct Family {
  std::vector<Question> questions;
  double same = 0;  // a difference up to this is none to the reader, in the deciding measure; 0:
                    // none is so small

  bool asks(const std::string& a, const std::string& b, Measure measure) const;
};

// As the sweep says ("questions", "same"); else, and for several folders, every arm against the
// reference on the measure that settings are chosen by. What asks the same of copies of the same
// arms (Arm::copy_of) is one question, and of an arm and its copy none.
Family family_of(const Study& study);

}  // namespace draftlab
