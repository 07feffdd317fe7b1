#include "optim/hyperball.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "record/hyperball.h"

namespace draftlab {
namespace {

// Of each matrix: [] for [m, n], [blocks, 1, 1] for [blocks, m, n].
at::Tensor norms(const at::Tensor& x) {
  return at::linalg_vector_norm(x, 2, at::IntArrayRef{-2, -1}, /*keepdim=*/x.dim() == 3);
}

Route bare(Route route) {
  route.learning_rates.assign(route.split.size(), 1);
  route.weight_decay = 0;
  return route;
}

class HyperballRule : public UpdateRule {
 public:
  HyperballRule(UpdateRuleMaker* base, const OptimizerConfig& options, const Route& route,
                const at::Tensor& weight)
      : UpdateRule(optimizer_kind(options.kind, route.name), {}, route, weight),
        base_(base(options, bare(route), weight)),
        blocks_(row_blocks(route)) {
    for (const RowBlocks& part : blocks_) {
      if (norms(view_of(weight, part)).eq(0).any().item<bool>()) {
        throw Error(
            route.name,
            "has norm 0" +
                (route.split.size() > 1 ? " in a block of " + std::to_string(part.rows) + " rows"
                                        : std::string()) +
                ", so that \"hyperball\" has no radius to keep; leave hyperball out, start "
                "from other weights, or route the tensor: \"frozen\", or \"adamw\" where "
                "that stands beside another kind");
      }
    }
  }

  const NamedTensors& state() const override { return base_->state(); }
  double cost() const override { return base_->cost() + UpdateRule::cost(); }

  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch& scratch,
            OrthogonalizationSample* sample) override {
    at::Tensor moved = scratch.matrices.matrix(Scratch::kUpdate, weight.size(0), weight.size(1),
                                               weight);        // [m, n]
    base_->step(moved.zero_(), gradient, 1, scratch, sample);  // -u
    int64_t first = 0;
    for (const RowBlocks& part : blocks_) {
      at::Tensor w = view_of(weight, part),
                 d = view_of(moved, part);  // [rows, n], or with [blocks]
      at::Tensor r = radius(first, part);   // [], or [blocks, 1, 1]
      first += part.blocks;
      r.copy_(at::where(r == 0, norms(w), r));
      const double eta = part.learning_rate * schedule;
      if (eta == 0) continue;
      w.addcmul_(d, r * eta / (norms(d) + kHyperballFloor));
      w.mul_(r / (norms(w) + kHyperballFloor));
    }
  }

 private:
  at::Tensor radius(int64_t first, const RowBlocks& part) const {
    const at::Tensor r = base_->state().at("radius").narrow(0, first, part.blocks);
    return part.blocks == 1 ? r[0] : r.view({part.blocks, 1, 1});
  }

  const std::unique_ptr<UpdateRule> base_;
  const std::vector<RowBlocks> blocks_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_hyperball_rule(UpdateRuleMaker* base,
                                                const OptimizerConfig& options, const Route& route,
                                                const at::Tensor& weight) {
  return std::make_unique<HyperballRule>(base, options, route, weight);
}

}  // namespace draftlab
