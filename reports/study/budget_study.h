#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/stats/returns_trend.h"
#include "reports/study/study.h"

namespace draftlab {

// Arms that differ in how long they train, by kind of optimizer: where each ends, and what a second
// of training buys at best.

struct BudgetEnd {
  const Arm* arm;
  int64_t steps = 0;
  double tokens = 0;  // supervised labels of a run, mean
  double sequences = 0, epochs = 0;
  Estimate seconds, loss, length;  // of training; held-out, at the end of its own schedule
  // No other end has as long an acceptance length after as few seconds.
  bool on_frontier = false;
  // How many times more data the reference kind needs for this loss; NaN where nothing tells.
  DataEfficiency data = {NAN, NAN, NAN};
};

struct BudgetKind {
  std::string title;            // "AdamW"
  size_t look = 0;              // of its first arm
  std::vector<BudgetEnd> ends;  // by rising steps, two at least
};

struct BudgetStudy {
  std::vector<BudgetKind> kinds;  // the reference arm's first, if it has several budgets
  // Of the reference kind against each other kind, in the order of `kinds` from the second on;
  // none where they lack a budget in common.
  std::vector<ReturnsTrend> trends;
};

// Empty where no kind of optimizer has arms of two budgets, each with a schedule that ends there,
// in one drafter, or where two arms of a kind have one budget: then they differ in more.
BudgetStudy budget_study(const Study& study);

}  // namespace draftlab
