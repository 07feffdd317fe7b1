#pragma once

#include <iosfwd>

#include "reports/study/study.h"

namespace draftlab {

// The opening of the study's report (reports/page/opening_text.h), as wide as the terminal.
void print_answer(const Study& study, std::ostream& out);

}  // namespace draftlab
