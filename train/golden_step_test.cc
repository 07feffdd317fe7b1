#include <gtest/gtest.h>

#include "model/drafter.h"
#include "optim/clipping.h"
#include "optim/optimizer.h"
#include "testing/golden_drafter.h"

namespace draftlab {
namespace {

// The loss after one clipped step from the golden drafter's weights, all float64.
double loss_after_one_step(const char* optimizer_json) {
  const GoldenDrafter golden;
  const BlockBatch batch = golden.batch(/*gamma=*/7);
  NamedTensors weights = golden.parameters, gradients;
  const OptimizerConfig optimizer_config =
      parse_optimizer_config(parse_json(optimizer_json, "test"), "test");
  Drafter drafter(golden.config, golden.embedding, golden.head);
  Optimizer optimizer(optimizer_config,
                      route(parameter_shapes(golden.config), optimizer_config, {}, "test"),
                      weights);
  drafter.loss_and_gradients(weights, batch, gradients);
  clip_gradients(gradients, 1.0);
  optimizer.step(gradients, 1.0);
  return drafter.loss_and_gradients(weights, batch, gradients).loss;
}

// Values of an independent float64 computation on SpecForge's loss.
TEST(GoldenStep, AdamWReachesTheKnownLoss) {
  EXPECT_NEAR(loss_after_one_step(R"({"kind": "adamw", "learning_rate": 1e-2, "weight_decay": 0})"),
              2.916375700204, 1e-10);
}

// PyTorch's Muon divides by max(norm, 1e-7): at this scale the same as dividing by the norm alone.
TEST(GoldenStep, MuonWithAdamWForVectorsReachesTheKnownLoss) {
  EXPECT_NEAR(loss_after_one_step(R"({"kind": "muon", "learning_rate": 1e-2, "weight_decay": 0.1,
                                      "scale": "match_rms", "epsilon": "scale_free",
                                      "adamw": {"learning_rate": 1e-3, "beta2": 0.999, "epsilon": 1e-8,
                                                "weight_decay": 0.01}})"),
              4.328598191391, 1e-10);
}

}  // namespace
}  // namespace draftlab
