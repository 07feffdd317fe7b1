#include "target_model/packed_linear.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace draftlab {
namespace {

// Largest difference from float64, relative to the size of the sum's terms.
double error(const at::Tensor& actual, const at::Tensor& x, const at::Tensor& weight,
             const at::Tensor& bias, const at::Tensor& sum) {
  at::Tensor expected = at::mm(x.to(at::kDouble), weight.to(at::kDouble).t());
  if (bias.defined()) expected = expected + bias;
  if (sum.defined()) expected = expected + sum;
  return (actual - expected).abs().max().item<double>() / std::sqrt(static_cast<double>(x.size(1)));
}

TEST(PackedLinear, IsTheProductForAnyNumberOfRowsWithAndWithoutBias) {
  at::set_num_threads(1);
  at::manual_seed(1);
  const std::pair<int64_t, int64_t> shapes[] = {{31, 24}, {5, 7}, {960, 576}, {1, 64}, {64, 1}};
  for (const auto& [out, in] : shapes) {
    const at::Tensor weight = at::randn({out, in}), bias = at::randn({out});
    const PackedLinear plain(weight), biased(weight, bias);
    for (const int64_t rows : {1, 2, 15, 16, 120, 129}) {
      const at::Tensor x = at::randn({rows, in}), sum = at::randn({rows, out});
      EXPECT_LT(error(plain(x), x, weight, {}, {}), 1e-5)
          << out << " x " << in << ", rows " << rows;  // float32
      EXPECT_LT(error(biased(x), x, weight, bias, {}), 1e-5)
          << out << " x " << in << ", rows " << rows;
      EXPECT_LT(error(plain.add_to(sum, x), x, weight, {}, sum), 1e-5)
          << out << " x " << in << ", rows " << rows;
      EXPECT_LT(error(biased.add_to(sum, x), x, weight, bias, sum), 1e-5)
          << out << " x " << in << ", rows " << rows;
    }
  }
}

TEST(PackedLinear, NeitherTheSumNorTheInputIsChangedAndTheBitsRepeat) {
  at::set_num_threads(1);
  at::manual_seed(2);
  const PackedLinear linear(at::randn({40, 30}));
  const at::Tensor x = at::randn({9, 30}), sum = at::randn({9, 40});
  const at::Tensor old_x = x.clone(), old_sum = sum.clone();
  const at::Tensor once = linear.add_to(sum, x);
  EXPECT_TRUE(once.equal(linear.add_to(sum, x)));
  EXPECT_TRUE(x.equal(old_x));
  EXPECT_TRUE(sum.equal(old_sum));
}

TEST(PackedLinear, RowsOfALargerTensorMayBeGiven) {
  at::manual_seed(3);
  const PackedLinear linear(at::randn({16, 8}));
  const at::Tensor x = at::randn({10, 8});
  EXPECT_TRUE(at::allclose(linear(x.narrow(0, 4, 3)), linear(x).narrow(0, 4, 3), 1e-5, 1e-5));
}

}  // namespace
}  // namespace draftlab
