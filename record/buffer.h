#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/optimizer_config.h"
#include "record/routing.h"

namespace draftlab {

// One tensor of state that an update rule keeps for a weight, and what it means. State transfer,
// names in checkpoints, bytes of state and `draftlab optimizers` follow from it; the rule in
// `optim` gets exactly these tensors.
struct Buffer {
  enum class Meaning {
    kMeanGradient,  // decaying average of gradients, of the weight's shape
    kMeanSquare,    // decaying average of their squares, entry by entry or over blocks of entries
    kRadius,        // norm of each row block, which is kept whatever the rule (record/hyperball.h)
    kOther,         // what only the same rule understands
    kCounter        // of steps: an int64 scalar on the CPU
  };

  std::string name;  // "momentum"; in a checkpoint "fc.weight/momentum"
  Meaning meaning = Meaning::kOther;
  std::vector<int64_t> shape = {};  // of numbers in float32, or float64 for float64 weights
  std::string text = {};            // what is in it, in a few words

  // Of the averages alone.
  double beta = 0;         // the decay
  std::string steps = {};  // the counter of the gradients that it has seen, which comes with it
  // A mean gradient is factor times the buffer; the factor in words.
  double factor = 1;
  std::string factor_text = {};
  // A mean gradient: the buffer by whose root the update divides it, both corrected for the bias of
  // young averages. "": an update that has no scale, such as a sign.
  std::string divided_by = {};
  // A mean square: of how many consecutive entries each number is the mean. Empty: one.
  std::vector<int64_t> blocks = {};
};

// Averages with a counter of their own, "<name>_steps".
Buffer mean_gradient(const std::string& name, const Route& route, double beta);
Buffer mean_square(const std::string& name, const Route& route, double beta);
// Anything else; a counter that belongs to no average.
Buffer other_buffer(const std::string& name, std::vector<int64_t> shape, const std::string& text);
Buffer counter(const std::string& name, const std::string& text);

// AdamW's pair, exp_avg and exp_avg_sq: the one divided by the root of the other.
std::vector<Buffer> adam_buffers(const Route& route, double beta1, double beta2);

// All that is kept for one row of the routing table; nothing for a frozen tensor. Throws Error for
// a rule that is unknown or not the optimizer's.
std::vector<Buffer> buffers(const OptimizerConfig& optimizer, const Route& route);

// How many numbers a buffer holds: the product of its sides.
int64_t numbers(const Buffer& buffer);

}  // namespace draftlab
