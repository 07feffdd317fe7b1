#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace draftlab {

// For tests: the tolerance of a dtype, relative to the largest entry of what is expected.
inline double tolerance(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? 1e-10 : 1e-4;
}

inline void expect_close(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  if (actual.numel() == 0) return;
  const double scale = std::max(1.0, expected.abs().max().item<double>());
  EXPECT_LE((actual.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>(),
            tolerance(actual) * scale);
}

}  // namespace draftlab
