#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "reports/study/result.h"
#include "reports/study/summary.h"

namespace draftlab {

// How far one update moves a matrix relative to its size: root mean square of the update over that
// of the weights, at the full learning rate (the schedule's factor is divided out), median over the
// kinds of layer whose tensors are matrices, of the mean over runs, at the first evaluated step
// that all runs have.
struct StepSize {
  double step = 0, value = NAN;  // NaN: no rows about updates
};
StepSize step_size(const std::vector<const Result*>& runs);

// Those kinds, in the order of the routing table. Vectors are few numbers and would hide the rest.
std::vector<std::string> matrix_kinds(const Result& run);
// Of any arm, in the order in which they first appear.
std::vector<std::string> matrix_kinds(const Summary& summary);

// Update over weights of one kind of layer at the full learning rate, against steps.
std::vector<Point> ratio_curve(const Result& run, const std::string& kind);

// Kinds of layer that hardly move: whose updates over weights, as for step_size() but the median
// over runs and evaluated steps, are below a hundredth of the median kind's.
struct DeadKind {
  std::string kind;
  double share = 0;  // of what the median kind moves; 0: it never moved
};
std::vector<DeadKind> dead_kinds(const std::vector<const Result*>& runs);

}  // namespace draftlab
