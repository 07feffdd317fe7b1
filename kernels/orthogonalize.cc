#include "kernels/orthogonalize.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace draftlab {
namespace {

constexpr double kEpsilon = 1e-7;

enum Slot : size_t { kX, kY, kGram, kPolynomial, kChain, kProduct, kEnd };
static_assert(kEnd == Workspace::kFree);

// out <- beta addend + alpha A B^T, for a product that is symmetric: row panels up to the diagonal,
// then the other half is copied, so that `out` is exactly symmetric. All but A and B are [m, m].
void symmetric_product(const at::Tensor& a, const at::Tensor& b, at::Tensor& out, double alpha = 1,
                       const at::Tensor* addend = nullptr, double beta = 0) {
  const int64_t m = a.size(0);
  // Thinner panels save more but feed the matrix units worse; a GPU is best left with one large
  // product.
  const int64_t panels = a.is_cpu() ? std::clamp<int64_t>(m / 64, 1, 8) : 1;
  for (int64_t p = 0; p < panels; ++p) {
    const int64_t first = m * p / panels, last = m * (p + 1) / panels;
    at::Tensor panel = out.slice(0, first, last).slice(1, 0, last);
    const at::Tensor rows = a.slice(0, first, last), cols = b.slice(0, 0, last).t();
    if (addend != nullptr) {
      at::addmm_out(panel, addend->slice(0, first, last).slice(1, 0, last), rows, cols, beta,
                    alpha);
    } else {
      at::mm_out(panel, rows, cols);
    }
    if (first > 0) {
      out.slice(0, 0, first)
          .slice(1, first, last)
          .copy_(out.slice(0, first, last).slice(1, 0, first).t());
    }
  }
}

class Iteration {
 public:
  // `x` and `y` [m, n] with m <= n, any strides; y is a second buffer for the products that replace
  // x.
  Iteration(at::Tensor x, at::Tensor y, Workspace& workspace) : x_(std::move(x)), y_(std::move(y)) {
    const auto square = [&](Slot slot) {
      return workspace.matrix(slot, x_.size(0), x_.size(0), x_);
    };
    gram_ = square(kGram);
    polynomial_ = square(kPolynomial);
    chain_ = square(kChain);
    product_ = square(kProduct);
  }

  void normalize(Normalization normalization) {
    at::Tensor norm = at::linalg_vector_norm(x_);
    switch (normalization) {
      case Normalization::kPlusEpsilon:
        norm.add_(kEpsilon);
        break;
      case Normalization::kAtLeastEpsilon:
        norm.clamp_min_(kEpsilon);
        break;
      default:
        norm.clamp_min_(1);  // the largest entry is 1, so only a zero matrix is below
    }
    x_.div_(norm);
  }

  // Scales rows by AOL, and the Gram matrix with them.
  void scale_rows() {
    symmetric_product(x_, x_, gram_);
    at::abs_out(product_, gram_);
    const at::Tensor s = product_.sum(1, /*keepdim=*/true).clamp_min_(kEpsilon).rsqrt_();
    x_.mul_(s);
    gram_.mul_(s).mul_(s.t());
    has_gram_ = true;
  }

  // X <- p_last(... p_first(X)), with one product of size m x n at each end and the rest on m x m
  // matrices: with R = X X^T and P_k = a I + b R + c R^2, X becomes ... P_1 P_0 X, and R becomes
  // P_k R P_k.
  void run(const std::vector<Quintic>& table, int64_t first, int64_t count) {
    if (!has_gram_) symmetric_product(x_, x_, gram_);
    has_gram_ = false;
    for (int64_t k = 0; k < count; ++k) {
      const Quintic& p = quintic(table, first + k);
      symmetric_product(gram_, gram_, polynomial_, p.c, &gram_, p.b);
      polynomial_.diagonal().add_(p.a);
      if (k == 0) {
        chain_.copy_(polynomial_);
      } else {
        symmetric_product(polynomial_, chain_, product_);
        std::swap(product_, chain_);
      }
      if (k + 1 < count) {
        symmetric_product(polynomial_, gram_, product_);
        symmetric_product(product_, polynomial_, gram_);
      }
    }
    at::mm_out(y_, chain_, x_);
    std::swap(x_, y_);
  }

  const at::Tensor& x() const { return x_; }

 private:
  at::Tensor x_, y_;
  at::Tensor gram_, polynomial_, chain_, product_;
  bool has_gram_ = false;  // of the present x_
};

}  // namespace

at::Tensor Workspace::matrix(size_t slot, int64_t rows, int64_t cols, const at::Tensor& like) {
  at::Tensor& buffer = buffers_.at(slot);
  if (!buffer.defined() || buffer.numel() < rows * cols ||
      buffer.scalar_type() != like.scalar_type() || buffer.device() != like.device()) {
    buffer = at::empty({rows * cols}, like.options());
  }
  return buffer.narrow(0, 0, rows * cols).view({rows, cols});
}

int64_t Workspace::bytes() const {
  int64_t bytes = 0;
  for (const at::Tensor& buffer : buffers_)
    bytes += buffer.defined() ? static_cast<int64_t>(buffer.nbytes()) : 0;
  return bytes;
}

at::Tensor orthogonalize(const at::Tensor& input, const Orthogonalization& how,
                         Workspace& workspace) {
  TORCH_CHECK(input.dim() == 2, "orthogonalize: needs a matrix, has ", input.dim(), " dimensions");
  const int64_t rows = input.size(0), cols = input.size(1);
  at::Tensor x = workspace.matrix(kX, rows, cols, input),
             y = workspace.matrix(kY, rows, cols, input);
  if (how.normalization == Normalization::kScaleFree) {
    const at::Tensor largest = at::linalg_vector_norm(input, INFINITY);
    at::div_out(x, input, at::where(largest == 0, 1, largest));
  } else {
    x.copy_(input);
  }
  const bool tall = rows > cols;
  Iteration iteration(tall ? x.t() : x, tall ? y.t() : y, workspace);
  if (how.method == Method::kTurbo) {
    TORCH_CHECK(how.steps >= static_cast<int64_t>(aol_quintics().size()),
                "orthogonalize: Turbo needs 4 steps or more");
    iteration.scale_rows();
  } else {
    iteration.normalize(how.normalization);
  }
  const auto& table = how.method == Method::kTurbo ? aol_quintics() : keller_jordan_quintics();
  // A run of k steps costs (4 k - 3) m^3 + 3 m^2 n, so that runs longer than one pay for n > m.
  for (int64_t done = 0; done < how.steps;) {
    const int64_t left = how.steps - done;
    const int64_t count = rows == cols ? 1 : left > 3 ? 2 : left;
    iteration.run(table, done, count);
    done += count;
  }
  return tall ? iteration.x().t() : iteration.x();
}

}  // namespace draftlab
