#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/study/study.h"

namespace draftlab {

// What a reader sees first, on the page and in a terminal: the answer, every arm's difference to
// the reference, and what speaks against it.

struct ForestRow {
  std::string arm;
  size_t look = 0;
  bool reference = false;
  double value = NAN;  // mean of the deciding measure at the planned end
  // Minus that of the reference, with the interval that goes with the claim; NaN where there is no
  // such number, which `said` explains.
  double difference = NAN, low = NAN, high = NAN;
  bool claimed = false;
  // "better", "worse", "open", "no difference beyond 0.02", "refused (F12)", "diverged in 3 of 3",
  // "copy of A", "no result yet"; of the reference what it stands above or below.
  std::string said;
};

// What stands beside a row: "+0.169 better", of the reference "1.420, below bigram table (1.451)".
std::string words_of(const ForestRow& row, int decimals);

struct Opening {
  std::string headline;         // one or two sentences
  std::string measure;          // "acceptance length, difference to AdamW"
  int decimals = 3;             // of its numbers
  std::vector<ForestRow> rows;  // best first, those without a number last, the reference at the end
  std::vector<std::string> against;  // the checks that warn or refuse: "F03 best at the edge"
  int64_t passed = 0, warned = 0, refused = 0, informed = 0, excluded = 0;  // checks
};

Opening opening(const Study& study);

}  // namespace draftlab
