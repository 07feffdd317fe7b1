#include "kernels/square_root.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace draftlab {
namespace {

template <typename T>
void expect_correctly_rounded(at::ScalarType dtype) {
  for (const int64_t n : {0, 1, 16, 1001}) {
    at::manual_seed(n);
    at::Tensor x = at::rand({n}, dtype) * 100;
    if (n > 3) {
      x[0] = 0;
      x[1] = std::numeric_limits<double>::infinity();
      x[2] = std::numeric_limits<T>::denorm_min();
    }
    const at::Tensor root = square_root(x);
    for (int64_t i = 0; i < n; ++i)
      EXPECT_EQ(root.data_ptr<T>()[i], std::sqrt(x.data_ptr<T>()[i])) << i;
    square_root_out(x, x);
    EXPECT_TRUE(at::equal(x, root));
  }
}

TEST(SquareRoot, OfEveryElementIsCorrectlyRounded) {
  expect_correctly_rounded<float>(at::kFloat);
  expect_correctly_rounded<double>(at::kDouble);
}

TEST(SquareRoot, OfNegativeNumbersIsNotANumber) {
  EXPECT_TRUE(square_root(at::full({3}, -1.0)).isnan().all().item<bool>());
}

TEST(SquareRoot, OfAViewOrAnotherTypeIsThatOfATen) {
  const at::Tensor columns = at::rand({5, 7}, at::kDouble).t();
  EXPECT_LT((square_root(columns) - columns.sqrt()).abs().max().item<double>(), 1e-10);
  const at::Tensor halves = at::rand({5}).to(at::kBFloat16);
  EXPECT_TRUE(at::equal(square_root(halves), halves.sqrt()));
}

}  // namespace
}  // namespace draftlab
