#include "kernels/symmetric_product.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "testing/closeness.h"

namespace draftlab {
namespace {

constexpr int64_t kSizes[] = {1, 2, 15, 16, 17, 48, 49, 64, 97, 130, 200};

TEST(SymmetricProduct, EqualsTheFullProductOfAMatrixWithItsTranspose) {
  at::manual_seed(1);
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const int64_t m : kSizes) {
      const at::Tensor wide = at::randn({m, 2 * m + 3}, dtype), tall = at::randn({m + 5, m}, dtype);
      for (const at::Tensor& x : {wide, tall.t(), wide.slice(1, 2)}) {
        at::Tensor out = at::full({m, m}, NAN, dtype);
        symmetric_product(x, x, out);
        expect_close(out, x.mm(x.t()));
        EXPECT_TRUE(at::equal(out, out.t())) << m;
      }
    }
  }
}

TEST(SymmetricProduct, AddsAMultipleOfASymmetricMatrixAndOfTheIdentity) {
  at::manual_seed(1);
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const int64_t m : kSizes) {
      at::Tensor a = at::randn({m, m}, dtype);
      a = a + a.t();
      const at::Tensor square = a.mm(a);
      at::Tensor out = at::full({m, m}, NAN, dtype);
      symmetric_product(a, square, out, 0.5, -0.25, square, 3);
      expect_close(out, 0.5 * a.mm(square) - 0.25 * square + 3 * at::eye(m, dtype));
      EXPECT_TRUE(at::equal(out, out.t())) << m;
    }
  }
}

}  // namespace
}  // namespace draftlab
