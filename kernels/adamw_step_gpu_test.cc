#include <ATen/ATen.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "kernels/adamw_step.h"

namespace draftlab {
namespace {

TEST(AdamWStepCuda, EqualsTheCpu) {
  if (int devices = 0; cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    GTEST_SKIP() << "needs a GPU";
  for (const int64_t n : {1, 1000, 3000001}) {
    at::manual_seed(5);
    at::Tensor w = at::randn({n}), g = at::randn({n}), m = 0.1 * at::randn({n}), v = at::rand({n});
    at::Tensor device_w = w.cuda(), device_m = m.cuda(), device_v = v.cuda();
    for (int64_t t = 1; t <= 3; ++t) {
      const AdamWStep step{
          .learning_rate = 3e-3, .beta2 = 0.95, .weight_decay = 0.1, .m_steps = t, .v_steps = t};
      adamw_step(w, g, m, v, step);
      adamw_step(device_w, g.cuda(), device_m, device_v, step);
    }
    EXPECT_LE((w - device_w.cpu()).abs().max().item<double>(), 1e-6);
    EXPECT_LE((m - device_m.cpu()).abs().max().item<double>(), 1e-6);
    EXPECT_LE((v - device_v.cpu()).abs().max().item<double>(), 1e-6);
  }
}

}  // namespace
}  // namespace draftlab
