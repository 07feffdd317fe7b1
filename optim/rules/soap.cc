#include "optim/rules/soap.h"

#include <ATen/ATen.h>

#include "base/stopwatch.h"
#include "kernels/momentum_step.h"
#include "kernels/square_root.h"
#include "optim/rules/two_sided.h"

namespace draftlab {
namespace {

// A X B, where an undefined A or B is the identity; uses slots `free` and `free` + 1.
at::Tensor rotated(const at::Tensor& a, const at::Tensor& x, const at::Tensor& b, size_t free,
                   Workspace& workspace) {
  at::Tensor result = x;
  for (const bool left : {true, false}) {
    const at::Tensor& q = left ? a : b;
    if (!q.defined()) continue;
    at::Tensor product = workspace.matrix(free++, x.size(0), x.size(1), x);
    left ? at::mm_out(product, q, result) : at::mm_out(product, result, q);
    result = product;
  }
  return result;
}

at::Tensor transposed(const at::Tensor& q) { return q.defined() ? q.t() : q; }

// Q and V's matching side, `dim`, after one power iteration with P.
void power_iteration(const at::Tensor& p, at::Tensor& q, at::Tensor& v, int64_t dim) {
  const at::Tensor image = p.mm(q);
  const at::Tensor order = (q * image).sum(0).argsort(/*stable=*/true, 0, /*descending=*/true);
  q.copy_(std::get<0>(at::linalg_qr(image.index_select(1, order))));
  v.copy_(v.index_select(dim, order));
}

}  // namespace

at::Tensor soap_direction(const at::Tensor& gradient, Soap& state, const AdamWStep& step,
                          Workspace& workspace) {
  const AdamWConstants<double> k(step);
  state.m.mul_(k.beta1).add_(gradient, k.rest1);
  const at::Tensor ql = transposed(state.left_basis), qr = state.right_basis;
  const at::Tensor g = rotated(ql, gradient, qr, 0, workspace);
  state.v.mul_(k.beta2).addcmul_(g, g, k.rest2);
  at::Tensor divisor = workspace.matrix(2, gradient.size(0), gradient.size(1), gradient);
  square_root_out(divisor, state.v);
  divisor.mul_(k.scale).add_(k.epsilon);
  const at::Tensor m = rotated(ql, state.m, qr, 0, workspace);
  divisor.reciprocal_().mul_(m).mul_(1 / (1 - std::pow(step.beta1, step.m_steps)));
  return rotated(state.left_basis, divisor, transposed(qr), 0, workspace);
}

void first_basis(Soap& state) {
  if (state.left.defined())
    state.left_basis.copy_(std::get<1>(at::linalg_eigh(state.left)).flip(1));
  if (state.right.defined())
    state.right_basis.copy_(std::get<1>(at::linalg_eigh(state.right)).flip(1));
}

void next_basis(Soap& state) {
  if (state.left.defined()) power_iteration(state.left, state.left_basis, state.v, 0);
  if (state.right.defined()) power_iteration(state.right, state.right_basis, state.v, 1);
}

namespace rules {
namespace {

class SoapRule : public TwoSidedRule {
 public:
  SoapRule(const OptimizerConfig& options, const Route& route, const at::Tensor& weight)
      : TwoSidedRule(options, route, weight, "exp_avg_sq_rotated") {
    const int64_t largest = options.integer("largest_side");
    for (size_t i = 0; i < blocks_.size(); ++i) {
      Soap state{view_of(m_, blocks_[i]), view_of(v_, blocks_[i]), {}, {}, {}, {}};
      if (blocks_[i].rows <= largest) {
        state.left = square("left", i);
        state.left_basis = square("left_basis", i);
      }
      if (weight.size(1) <= largest) {
        state.right = square("right", i);
        state.right_basis = square("right_basis", i);
      }
      states_.push_back(std::move(state));
    }
  }

  // As in github.com/nikhilvyas/SOAP: the first gradient only fills the preconditioners, later ones
  // update the weight first, and decay comes after the update.
  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch& scratch,
            OrthogonalizationSample*) override {
    const bool first = gradients_ == 0;
    AdamWStep step = constants_;
    if (!first) {
      step.m_steps = ++m_steps_;
      step.v_steps = ++v_steps_;
    }
    for (size_t i = 0; i < blocks_.size(); ++i) {
      Soap& state = states_[i];
      const at::Tensor g = view_of(gradient, blocks_[i]);  // [rows, n]
      if (!first) {
        at::Tensor w = view_of(weight, blocks_[i]);  // [rows, n]
        const double rate = blocks_[i].learning_rate * schedule,
                     shrink = rate * route_.weight_decay;
        weight_step(w, soap_direction(g, state, step, scratch.matrices),
                    {rate * (1 - shrink), shrink, false});
      }
      mix_in(g, state.left, state.right, constants_.beta2);  // [rows, rows], [n, n]
      Stopwatch watch;
      if (first) {
        first_basis(state);
      } else if (gradients_ % every_ == 0) {
        next_basis(state);
      }
      scratch.orthogonalization_seconds += watch.lap();
    }
    ++gradients_;
  }

 private:
  std::vector<Soap> states_;  // views of the state, one a block
};

}  // namespace

std::unique_ptr<UpdateRule> soap(const OptimizerConfig& options, const Route& route,
                                 const at::Tensor& weight) {
  return std::make_unique<SoapRule>(options, route, weight);
}

}  // namespace rules
}  // namespace draftlab
