#include "kernels/rotary.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "testing/closeness.h"

namespace draftlab {
namespace {

class RotaryOf : public testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(1); }
  at::Tensor random(at::IntArrayRef shape) const {
    return at::randn(shape, at::kDouble).to(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Dtypes, RotaryOf, testing::Values(at::kFloat, at::kDouble));

TEST_P(RotaryOf, EqualsThePlainVersionAndItsInverseUndoesIt) {
  const std::vector<int64_t> positions = {0, 3, 99, 7, 7};
  const RotaryTable table = rotary_table(100, 10, 1e4, at::TensorOptions(GetParam()));
  const at::Tensor x = random({5, 3, 10});
  at::Tensor turned = x.clone(), plain = x.clone();
  rotary(turned, positions, table, false);
  plain_rotary(plain, positions, table, false);
  expect_close(turned, plain);
  EXPECT_FALSE(turned[1].allclose(x[1]));
  EXPECT_TRUE(turned[0].equal(x[0])) << "position 0 does not turn";
  rotary(turned, positions, table, true);
  expect_close(turned, x);
  plain_rotary(plain, positions, table, true);
  expect_close(plain, x);
}

TEST(Rotary, TurnsEachPairByPositionTimesItsFrequency) {
  const RotaryTable table = rotary_table(6, 4, 100, at::kDouble);
  const at::Tensor x = at::tensor({1.0, 0.0, 0.0, 2.0}).to(at::kDouble).view({1, 1, 4});
  rotary(x, {5}, table, false);
  // Pairs are (0, 2) with frequency 1 and (1, 3) with frequency 100^-1/2.
  expect_close(x.flatten(), at::tensor(std::vector<double>{std::cos(5.0), -2 * std::sin(0.5),
                                                           std::sin(5.0), 2 * std::cos(0.5)},
                                       at::kDouble));
}

TEST(Rotary, RefusesAPositionBeyondTheTable) {
  const RotaryTable table = rotary_table(6, 4, 100, at::kDouble);
  EXPECT_THROW(rotary(at::zeros({1, 1, 4}, at::kDouble), {6}, table, false), c10::Error);
}

}  // namespace
}  // namespace draftlab
