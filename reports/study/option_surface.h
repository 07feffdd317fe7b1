#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/study/summary.h"

namespace draftlab {

// How well an arm did by two of its swept options together.
struct OptionSurface {
  std::string row_key, column_key;  // the other option, and the learning rate where it was swept
  std::vector<Json> rows, columns;  // their values, as in SweptOption
  // [row][column]: the best mean of the deciding measure over all other options; NaN: nothing
  // finished there.
  std::vector<std::vector<double>> values;
  // Between the best of the best and the worst of the best row, and likewise columns: what
  // choosing this option well was worth. NaN of fewer than two with a number.
  double row_spread = 0, column_spread = 0;
};

// Nothing of an arm that swept fewer than two options with several values, or whose points, drawn
// at random, fill less than half of the grid of them. Of more than two the learning rate and the
// one with the most values.
std::optional<OptionSurface> option_surface(const Arm& arm, Measure measure);

}  // namespace draftlab
