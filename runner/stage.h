#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "record/optimizer_config.h"
#include "record/routing.h"
#include "record/segment.h"

namespace draftlab {

// What a run trains with from `from_step` on, until its next stage or its end.
struct Stage {
  int64_t from_step = 0;  // 0 for the first
  OptimizerConfig optimizer;
  std::vector<RoutingRule> routing;
  StartConfig start;  // how it takes over from the stage before
};

// One point of an arm's grid: its stages, and what tells it from the arm's other points, such as
// "lr=0.01" or "at=60 state=reset"; "" for an only point.
struct ArmPoint {
  std::vector<Stage> stages;
  std::string label;
};

// Gives each point a label of what varies between them.
void label_points(std::vector<ArmPoint>& points);

// The points of an arm: each combination of its optimizer's lists and of those of its switches
// (docs/sweep_file.md), the last list fastest. Throws Error with the place of the key for a switch
// outside of the training or not behind the one before it.
std::vector<ArmPoint> arm_points(const std::vector<OptimizerConfig>& optimizers,
                                 const std::vector<RoutingRule>& routing, const JsonArray& switches,
                                 const TrainingConfig& training, const std::string& where,
                                 std::vector<std::string>& notices);

}  // namespace draftlab
