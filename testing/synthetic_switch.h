#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/study/result.h"

namespace draftlab {

// For tests: made-up runs of one small drafter with switches, as load_results() would give them.
struct SyntheticSwitch {
  int64_t at = 0;
  std::string optimizer;  // JSON; "": as before
  StartConfig start;
};

struct SyntheticPath {
  std::string arm, optimizer;  // JSON
  std::vector<SyntheticSwitch> switches = {};
  TrainingConfig training = {.steps = 40};
  std::vector<std::string> layer_types = {"full_attention"};
  std::vector<RoutingRule> routing = {};
};

// One run, done, with these losses at steps 0, 10, 20, ... up to training.steps; acceptance length
// is 10 - loss. Its seed is in every identity as in real runs; its weights_hash is a text of its
// losses. Updates move the weights by the learning rate times their size in the first step of each
// segment and at each evaluation.
Result synthetic_run(const SyntheticPath& path, int64_t seed, const std::vector<double>& losses);

}  // namespace draftlab
