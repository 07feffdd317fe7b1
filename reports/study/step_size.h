#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "reports/study/result.h"

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

// Update over weights of one kind of layer at the full learning rate, against steps.
std::vector<Point> ratio_curve(const Result& run, const std::string& kind);

}  // namespace draftlab
