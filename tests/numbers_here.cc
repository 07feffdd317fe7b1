// Prints which version of our kernels this CPU takes, and then a line for every optimizer and for a
// drafter: a hash of what it computes. For tests/processors_test.cc, which runs it on several CPUs.
#include <iostream>

#include "kernels/clone.h"
#include "model/drafter.h"
#include "optim/optimizer.h"
#include "testing/every_configuration.h"
#include "testing/golden_drafter.h"
#include "train/checkpoint.h"

namespace draftlab {
namespace {

// Large enough for several registers and a rest.
const std::vector<ParameterShape> kShapes = {{"layers.0.mlp.up_proj.weight", {37, 53}},
                                             {"layers.0.mlp.down_proj.weight", {53, 37}},
                                             {"norm.weight", {53}}};

NamedTensors random(uint64_t seed) {
  at::manual_seed(seed);
  NamedTensors tensors;
  for (const ParameterShape& p : kShapes) tensors[p.name] = at::randn(p.shape, at::kFloat);
  return tensors;
}

std::string after_three_steps(const OptimizerConfig& config) {
  const NamedTensors weights = random(1);
  Optimizer optimizer(config, route(kShapes, config, {}, "routing"), weights);
  for (int step = 0; step < 3; ++step) optimizer.step(random(2 + step), 1);
  return weights_hash(weights);
}

std::string gradients_of_a_drafter(at::ScalarType dtype) {
  const GoldenDrafter golden;
  NamedTensors parameters, gradients;
  for (const auto& [name, tensor] : golden.parameters) parameters[name] = tensor.to(dtype);
  BlockBatch batch = golden.batch(/*gamma=*/4);
  batch.context = batch.context.to(dtype);
  Drafter drafter(golden.config, golden.embedding.to(dtype), golden.head.to(dtype));
  drafter.loss_and_gradients(parameters, batch, gradients);
  return weights_hash(gradients);
}

}  // namespace
}  // namespace draftlab

int main() {
  using namespace draftlab;
  std::cout << picked_clone() << "\n";
  for (const std::string& text : every_configuration())
    std::cout << text << " " << after_three_steps(config_of(text)) << "\n";
  std::cout << "drafter, float " << gradients_of_a_drafter(at::kFloat) << "\n";
  std::cout << "drafter, double " << gradients_of_a_drafter(at::kDouble) << "\n";
}
