#include "kernels/newton_schulz.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/square_root.h"

namespace draftlab {
namespace {

// The part of X whose singular values are above this times the largest has a polar factor.
double rank_tolerance(const at::Tensor& x) { return x.scalar_type() == at::kDouble ? 1e-12 : 1e-6; }

// The scale that `how` makes of the square of a norm. The floors are meant for X itself, the norm
// is of X divided by its largest entry.
at::Tensor scale_from(const at::Tensor& square, const at::Tensor& largest,
                      const Orthogonalization& how) {
  constexpr double kGuard = 1e-30;  // between zero and everything else
  const bool of_norm = how.normalizer == Normalizer::kFrobenius;  // the others floor its square
  at::Tensor divisor = of_norm ? how.safety * square_root(square) : square;
  const at::Tensor epsilon = how.epsilon / (of_norm ? largest : largest.square());
  if (how.floor == Floor::kPlus) divisor = divisor + epsilon;
  if (how.floor == Floor::kAtLeast) divisor = divisor.maximum(epsilon);
  divisor = divisor.clamp_min(kGuard);
  return of_norm ? divisor.reciprocal() : divisor.rsqrt() / how.safety;
}

at::Tensor gram_matrix(const at::Tensor& x) { return x.matmul(x.mT()); }

at::Tensor polar_factor(const at::Tensor& x) {
  const auto [u, s, vh] = at::linalg_svd(x, /*full_matrices=*/false);
  const at::Tensor keep = s > s.amax(-1, /*keepdim=*/true) * rank_tolerance(x);
  return (u * keep.unsqueeze(-2)).matmul(vh);
}

// Every step on X; `gram` is X X^T.
at::Tensor standard_steps(at::Tensor x, at::Tensor gram, const Orthogonalization& how) {
  for (int64_t k = 0; k < how.steps; ++k) {
    if (k > 0) gram = gram_matrix(x);
    const Quintic& p = quintic(how.quintics, k);
    x = p.a * x + (p.b * gram + p.c * gram.matmul(gram)).matmul(x);
  }
  return x;
}

// Every step on R = X X^T and Q, with Q X the matrix so far: with Z = b R + c R^2,
// Q <- (a I + Z) Q and R <- (a I + Z) R (a I + Z).
at::Tensor gram_steps(at::Tensor x, at::Tensor r, const Orthogonalization& how) {
  at::Tensor q;
  for (int64_t k = 0; k < how.steps; ++k) {
    if (k > 0 && std::count(how.restarts.begin(), how.restarts.end(), k) > 0) {
      x = q.matmul(x);
      r = gram_matrix(x);
      q.reset();
    }
    const Quintic& p = quintic(how.quintics, k);
    const at::Tensor z = p.b * r + p.c * r.matmul(r);
    q = q.defined() ? p.a * q + q.matmul(z) : p.a * at::eye(r.size(-1), r.options()) + z;
    const at::Tensor rz = p.a * r + r.matmul(z);
    r = p.a * rz + z.matmul(rz);
  }
  return q.matmul(x);
}

// With 1 in place of zero.
at::Tensor largest_entry(const at::Tensor& x, at::IntArrayRef dims) {
  if (!x.isfinite().all().item<bool>()) throw_not_finite();
  const at::Tensor largest = x.abs().amax(dims, /*keepdim=*/true);
  return at::where(largest == 0, 1, largest);
}

}  // namespace

at::Tensor normalizing_scale(const at::Tensor& gram, const at::Tensor& largest,
                             const Orthogonalization& how) {
  at::Tensor square;  // [.., m or 1, 1]
  switch (how.normalizer) {
    case Normalizer::kFrobenius:
      square = gram.diagonal(0, -2, -1).sum(-1).unsqueeze(-1).unsqueeze(-1);
      break;
    case Normalizer::kSchatten4:
      square = at::linalg_vector_norm(gram, 2, {-2, -1}, /*keepdim=*/true);
      break;
    case Normalizer::kAol:
      square = at::linalg_vector_norm(gram, 1, -1, /*keepdim=*/true);
      break;
  }
  return scale_from(square, largest, how);
}

void require_matrices(const at::Tensor& x, const Orthogonalization& how) {
  if (x.dim() != 2 && x.dim() != 3) {
    throw Error("orthogonalization", "needs a matrix or a batch of matrices, has " +
                                         std::to_string(x.dim()) + " dimensions");
  }
  if (how.steps < 1) throw Error("orthogonalization", "needs 1 step or more");
}

void throw_not_finite() {
  throw Error("orthogonalization",
              "the matrix has NaN or infinite entries; look for a diverged loss or an overflow "
              "upstream");
}

at::Tensor newton_schulz(const at::Tensor& input, const Orthogonalization& how) {
  require_matrices(input, how);
  if (input.size(-2) > input.size(-1)) return newton_schulz(input.mT(), how).mT();
  const at::Tensor largest = largest_entry(input, {-2, -1});  // [.., 1, 1]
  at::Tensor x = input / largest;
  if (how.quintics.empty()) return polar_factor(x);

  const at::Tensor scale = normalizing_scale(gram_matrix(x), largest, how);
  x = scale * x;
  const at::Tensor gram = gram_matrix(x);
  return how.form == Form::kGram ? gram_steps(x, gram, how) : standard_steps(x, gram, how);
}

at::Tensor newton_schulz_diagonal(const at::Tensor& input, const Orthogonalization& how) {
  if (input.dim() != 1) {
    throw Error("orthogonalization of a diagonal",
                "needs a vector, has " + std::to_string(input.dim()) + " dimensions");
  }
  const at::Tensor largest = largest_entry(input, {0});
  at::Tensor x = input / largest;
  if (how.quintics.empty()) return x.sign() * (x.abs() > rank_tolerance(x));

  const at::Tensor gram = x.square();  // the diagonal of X X^T
  const at::Tensor square = how.normalizer == Normalizer::kFrobenius   ? gram.sum()
                            : how.normalizer == Normalizer::kSchatten4 ? gram.norm()
                                                                       : gram;
  x = x * scale_from(square, largest, how);
  for (int64_t k = 0; k < how.steps; ++k) {
    const Quintic& p = quintic(how.quintics, k);
    const at::Tensor r = x.square();
    x = x * (p.a + r * (p.b + r * p.c));
  }
  return x;
}

}  // namespace draftlab
