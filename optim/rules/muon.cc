#include "optim/rules/muon_rule.h"

namespace draftlab::rules {
namespace {

// Also Turbo-Muon, whose orthogonalizer is an option, and MuonAll, which takes vectors too.
class Muon : public MuonRule {
 public:
  using MuonRule::MuonRule;

  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch& scratch,
            OrthogonalizationSample* sample) override {
    const at::Tensor u = momentum(gradient, scratch);  // of the weight's shape, [m, n]
    if (weight.dim() != 2) {                           // the diagonal of a matrix
      const at::Tensor o = orthogonalized(u.reshape(-1), scratch, sample);  // [d]
      move(weight, o.view(weight.sizes()), route_.learning_rates[0], schedule);
    }
    for (const RowBlocks& part : blocks_) {
      const bool first = &part == &blocks_.front();
      const at::Tensor x = view_of(u, part);  // [rows, n], or [blocks, rows, n]
      const at::Tensor o = orthogonalized(x, scratch, first ? sample : nullptr);  // as x
      at::Tensor w = view_of(weight, part);                                       // as x
      move(w, o, part.learning_rate, schedule);
    }
  }
};

}  // namespace

std::unique_ptr<UpdateRule> muon(const OptimizerConfig& options, const Route& route,
                                 const at::Tensor& weight) {
  return std::make_unique<Muon>(options, route, weight);
}

}  // namespace draftlab::rules
