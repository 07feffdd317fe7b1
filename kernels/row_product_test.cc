#include "kernels/row_product.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/lanes.h"

namespace draftlab {
namespace {

at::Tensor product(const at::Tensor& x, const at::Tensor& w) {
  const at::Tensor out = at::empty({x.size(0), w.size(0)});
  row_product(x.const_data_ptr<float>(), w.const_data_ptr<float>(), x.size(0), x.size(1), w.size(0),
              out.mutable_data_ptr<float>());
  return out;
}

TEST(RowProduct, EveryEntryIsTheDotProductOfItsRows) {
  at::manual_seed(1);
  for (const int64_t in : {1, 15, 16, 17, 576}) {
    for (const int64_t outs : {1, 3, 4, 9}) {
      const at::Tensor x = at::randn({7, in}), w = at::randn({outs, in}), out = product(x, w);
      const at::Tensor exact = at::mm(x.to(at::kDouble), w.to(at::kDouble).t());
      EXPECT_LT((out - exact).abs().max().item<double>(),
                1e-6 * std::sqrt(static_cast<double>(in)));  // float32
      for (int64_t r = 0; r < 7; ++r) {
        for (int64_t o = 0; o < outs; ++o) {
          EXPECT_EQ(out[r][o].item<float>(),
                    dot(x.const_data_ptr<float>() + r * in, w.const_data_ptr<float>() + o * in, in))
              << in << " in, row " << r << " of " << o;
        }
      }
    }
  }
}

TEST(RowProduct, ARowHasTheSameBitsWhateverRowsAreBesideItAndWhateverThreads) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({37, 200}), w = at::randn({1000, 200}), all = product(x, w);
  for (const int64_t rows : {1, 2, 3, 4, 5, 8, 16, 36}) {
    for (int64_t begin = 0; begin + rows <= 37; begin += rows) {
      EXPECT_TRUE(product(x.narrow(0, begin, rows), w).equal(all.narrow(0, begin, rows)))
          << rows << " rows from " << begin;
    }
  }
  const int threads = at::get_num_threads();
  at::set_num_threads(threads == 1 ? 2 : 1);
  EXPECT_TRUE(product(x, w).equal(all));
  at::set_num_threads(threads);
}

TEST(RowProduct, OfNoRowsIsNothing) {
  EXPECT_EQ(product(at::empty({0, 8}), at::randn({3, 8})).numel(), 0);
}

}  // namespace
}  // namespace draftlab
