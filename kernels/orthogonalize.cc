#include "kernels/orthogonalize.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "kernels/symmetric_product.h"

namespace draftlab {
namespace {

enum Slot : size_t { kX, kY, kGram, kPolynomial, kChain, kProduct, kEnd };
static_assert(kEnd == Workspace::kFree);

// How the rounding errors of a Gram matrix grow in the worst of these runs, as a share of the
// result. Step k of a run sees them multiplied by (a_0 ... a_(k-1))^2, since the slopes at zero,
// where they are steepest, carry R there; its factor a + b R + c R^2 makes |b_k| / a_k of them.
double error_growth(const Orthogonalization& how, const std::vector<int64_t>& runs) {
  double worst = 0;
  int64_t k = 0;
  for (const int64_t count : runs) {
    double slope = 1;
    for (const int64_t end = k + count; k < end; ++k) {
      const Quintic& p = quintic(how.quintics, k);
      worst = std::max(worst, slope * slope * std::abs(p.b) / p.a);
      slope *= p.a;
    }
  }
  return worst;
}

std::vector<int64_t> restarted(int64_t steps, const std::vector<int64_t>& restarts) {
  std::vector<int64_t> runs;
  for (int64_t k = 0; k < steps; ++k) {
    if (k == 0 || std::count(restarts.begin(), restarts.end(), k) > 0) runs.push_back(0);
    ++runs.back();
  }
  return runs;
}

// The lengths of the runs, each on one Gram matrix, in which the steps are done. A run of k
// quintics costs (4 k - 3) m^3 + 3 m^2 n operations, so that few runs pay where n > m: the fewest
// of even length that float32 bears, the longer ones first, where that is borne, as later steps
// flatten their errors.
std::vector<int64_t> choose_runs(int64_t rows, int64_t cols, const Orthogonalization& how) {
  constexpr double kLargestGrowth = 300;  // stays within about 1e-4 of the plain version
  if (how.form == Form::kGram) return restarted(how.steps, how.restarts);
  if (rows != cols) {
    for (int64_t count = 1; count < how.steps; ++count) {
      std::vector<int64_t> runs(count, how.steps / count);
      for (int64_t i = 0; i < how.steps % count; ++i) ++runs[i];
      if (error_growth(how, runs) <= kLargestGrowth) return runs;
      std::reverse(runs.begin(), runs.end());
      if (error_growth(how, runs) <= kLargestGrowth) return runs;
    }
  }
  return std::vector<int64_t>(how.steps, 1);
}

class Iteration {
 public:
  // X is [m, n] with m <= n.
  Iteration(const at::Tensor& x, const Orthogonalization& how, Workspace& workspace) : how_(how) {
    const auto square = [&](Slot slot) { return workspace.matrix(slot, x.size(0), x.size(0), x); };
    gram_ = square(kGram);
    polynomial_ = square(kPolynomial);
    chain_ = square(kChain);
    product_ = square(kProduct);
  }

  // Y <- X after the steps [first, first + count), with one product of size m x n at each end and
  // the rest on m x m matrices: with R = X X^T and P_k = a I + b R + c R^2, X becomes
  // ... P_1 P_0 X, and R becomes P_k R P_k. The first run normalizes: not X but R, and the columns
  // of the last product's left side.
  void run(const at::Tensor& x, at::Tensor& y, int64_t first, int64_t count,
           const at::Tensor& largest) {
    symmetric_product(x, x, gram_);
    at::Tensor scale;
    if (first == 0) {
      scale = normalizing_scale(gram_, largest, how_);
      gram_.mul_(scale).mul_(scale.mT());
    }
    for (int64_t k = 0; k < count; ++k) {
      evaluate(quintic(how_.quintics, first + k), k == 0 ? chain_ : polynomial_);
      const at::Tensor& p = k == 0 ? chain_ : polynomial_;
      if (k + 1 < count) {
        symmetric_product(p, gram_, product_);
        symmetric_product(product_, p, gram_);
      }
      if (k > 0) {
        symmetric_product(polynomial_, chain_, product_);
        std::swap(product_, chain_);
      }
    }
    if (scale.defined()) chain_.mul_(scale.mT());
    at::mm_out(y, chain_, x);
  }

 private:
  void evaluate(const Quintic& p, at::Tensor& polynomial) {
    if (p.c != 0) {
      symmetric_product(gram_, gram_, polynomial, p.c, p.b, gram_, p.a);
    } else {
      at::mul_out(polynomial, gram_, at::scalar_tensor(p.b, gram_.options()));
      polynomial.diagonal().add_(p.a);
    }
  }

  const Orthogonalization& how_;
  at::Tensor gram_, polynomial_, chain_, product_;
};

// Out <- the orthogonalized X, both [m, n].
void orthogonalize_matrix(const at::Tensor& input, at::Tensor out, const Orthogonalization& how,
                          Workspace& workspace) {
  const auto [least, most] = at::aminmax(input);
  const at::Tensor largest = at::maximum(least.neg(), most).view({1, 1});
  const double size = largest.item<double>();
  if (!std::isfinite(size)) throw_not_finite();
  if (size == 0) {
    out.zero_();
    return;
  }
  at::Tensor spare = workspace.matrix(kY, input.size(0), input.size(1), input);
  const std::vector<int64_t> runs = choose_runs(input.size(0), input.size(1), how);
  if (runs.size() % 2 == 1) std::swap(out, spare);  // the last run must end in `out`
  at::div_out(out, input, largest);
  if (input.size(0) > input.size(1)) {
    out = out.t();
    spare = spare.t();
  }
  Iteration iteration(out, how, workspace);
  int64_t done = 0;
  for (const int64_t count : runs) {
    iteration.run(out, spare, done, count, largest);
    std::swap(out, spare);
    done += count;
  }
}

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

at::Tensor orthogonalize(const at::Tensor& x, const Orthogonalization& how, Workspace& workspace) {
  if (how.quintics.empty()) return newton_schulz(x, how);
  if (x.scalar_type() != at::kFloat && x.scalar_type() != at::kDouble) {
    throw Error("orthogonalize",
                std::string("needs float32 or float64, has ") + at::toString(x.scalar_type()));
  }
  require_matrices(x, how);
  const int64_t rows = x.size(-2), cols = x.size(-1), batch = x.dim() == 3 ? x.size(0) : 1;
  at::Tensor out = workspace.matrix(kX, batch * rows, cols, x).view(x.sizes());
  if (x.dim() == 2) {
    orthogonalize_matrix(x, out, how, workspace);
  } else {
    for (int64_t i = 0; i < batch; ++i) orthogonalize_matrix(x[i], out[i], how, workspace);
  }
  return out;
}

OrthogonalizationCost orthogonalization_cost(int64_t rows, int64_t cols,
                                             const Orthogonalization& how) {
  const auto m = static_cast<double>(std::min(rows, cols)),
             n = static_cast<double>(std::max(rows, cols));
  const double wide = m * m * n, square = m * m * m, steps = static_cast<double>(how.steps);
  if (how.quintics.empty()) return {"exact", 4 * wide + 22 * square, 4 * wide + 22 * square, 0};
  OrthogonalizationCost cost = {"", 0, 0, 0};
  const std::vector<int64_t> runs = choose_runs(rows, cols, how);
  int64_t k = 0;
  for (const int64_t count : runs) {
    cost.form += (cost.form.empty() ? "" : "+") + std::to_string(count);
    cost.actual_flops += 3 * wide;
    cost.gemms += 2 + 3 * (count - 1);
    cost.actual_flops += static_cast<double>(3 * (count - 1)) * square;
    for (const int64_t end = k + count; k < end; ++k) {
      const bool quintic_step = quintic(how.quintics, k).c != 0;
      cost.dense_flops += 4 * wide + (quintic_step ? 2 * square : 0);
      cost.actual_flops += quintic_step ? square : 0;
      cost.gemms += quintic_step;
    }
  }
  if (static_cast<double>(runs.size()) == steps) cost.form = "standard";
  return cost;
}

}  // namespace draftlab
