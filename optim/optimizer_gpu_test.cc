#include <ATen/ATen.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "optim/optimizer.h"

namespace draftlab {
namespace {

TEST(OptimizerCuda, KindsAgreeWithTheCpu) {
  if (int devices = 0; cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    GTEST_SKIP() << "needs a GPU";
  const std::vector<ParameterShape> shapes = {
      {"fc.weight", {192, 130}}, {"norm.weight", {192}}, {"up.weight", {90, 300}}};
  const auto random = [&](uint64_t seed) {
    at::manual_seed(seed);
    NamedTensors tensors;
    for (const ParameterShape& shape : shapes) tensors[shape.name] = at::randn(shape.shape);
    return tensors;
  };
  const auto on_gpu = [](const NamedTensors& tensors) {
    NamedTensors moved;
    for (const auto& [name, tensor] : tensors) moved[name] = tensor.cuda();
    return moved;
  };
  for (const char* kind :
       {"adamw", "lion", "adam_mini", "muon", "normuon", "turbo_muon", "muon_all"}) {
    const OptimizerConfig config =
        parse_optimizer_config(JsonObject{{"kind", kind}, {"weight_decay", 0.1}}, "test");
    const std::vector<Route> table = route(shapes, config, {}, "test");
    const NamedTensors here = random(1), there = on_gpu(here);
    Optimizer cpu(config, table, here), gpu(config, table, there);
    for (uint64_t t = 0; t < 4; ++t) {
      const NamedTensors gradients = random(10 + t);
      cpu.step(gradients, 1);
      gpu.step(on_gpu(gradients), 1);
    }
    for (const auto& [name, tensor] : here) {
      EXPECT_LE(((there.at(name).cpu() - tensor).norm() / tensor.norm()).item<double>(), 1e-4)
          << kind << " " << name;
    }
  }
}

}  // namespace
}  // namespace draftlab
