#include "record/optimizers/normuon.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "kernels/square_root.h"
#include "optim/rules/muon_rule.h"

// NorMuon (Li et al. 2025, arXiv 2510.05491): after the orthogonalization rows of O are evened out
// by a running mean square V of each row, then the whole is scaled back. The sources differ in
// floors and in what is scaled:
//   official       O_ij / (sqrt(V_i) + 1e-10), then O * n0 / (||O||_F + 1e-10)
//   paper          the same floors
//   dion           O_ij / (sqrt(V_i) + 1e-8), then O * n0 / max(||O||_F, 1e-8)
//   modded_nanogpt O_ij / sqrt(max(V_i, 1e-10)), then O * n0 / max(||O||_F, 1e-10), and columns
//                  instead of rows where there are more columns
// with V_i <- beta2 V_i + (1 - beta2) mean_j O_ij^2 and n0 the norm ||O||_F that O came with. There
// is no bias correction: the scaling back cancels it.

namespace draftlab::rules {
namespace {

class NorMuon : public MuonRule {
 public:
  NorMuon(const OptimizerConfig& options, const Route& route, const at::Tensor& weight)
      : MuonRule(options, route, weight),
        convention_(options.text("convention")),
        beta2_(options.number("beta2")),
        unit_norm_(options.has("scale") && options.text("scale") == "rms"),
        v_(statistics(options)) {
    require_one_of(convention_, {"official", "paper", "dion", "modded_nanogpt"}, route.name);
  }

  void step(at::Tensor& weight, const at::Tensor& gradient, double schedule, Scratch& scratch,
            OrthogonalizationSample* sample) override {
    const at::Tensor u = momentum(gradient, scratch);  // [m, n]
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const at::Tensor x = view_of(u, blocks_[i]);  // [rows, n], or [blocks, rows, n]
      at::Tensor o = orthogonalized(x, scratch, i == 0 ? sample : nullptr);  // as x
      even_out(o, v_[i]);
      at::Tensor w = view_of(weight, blocks_[i]);  // as x
      move(w, o, blocks_[i].learning_rate, schedule);
    }
  }

 private:
  // O [.., m, n] is changed in place, per matrix of a batch; V [.., m, 1], or [.., 1, n] for
  // columns, is updated. Zero stays zero.
  void even_out(at::Tensor& o, at::Tensor& v) const {
    const bool dion = convention_ == "dion", modded = convention_ == "modded_nanogpt";
    const int64_t along = v.size(-1) == 1 ? -1 : -2;  // the sum runs over a row, or over a column
    const at::Tensor squares = at::linalg_vector_norm(o, 2, along, /*keepdim=*/true).square_();
    v.mul_(beta2_).add_(squares, (1 - beta2_) / static_cast<double>(o.size(along)));
    const at::Tensor factor = modded ? v.clamp_min(1e-10).rsqrt_()
                                     : square_root(v).add_(dion ? 1e-8 : 1e-10).reciprocal_();
    const at::Tensor norm =
        square_root((squares * factor * factor).sum({-2, -1}, /*keepdim=*/true));
    const at::Tensor divisor = dion || modded ? norm.clamp_min(dion ? 1e-8 : 1e-10) : norm + 1e-10;
    const at::Tensor wanted =
        unit_norm_ ? at::ones_like(norm) : square_root(squares.sum({-2, -1}, /*keepdim=*/true));
    o.mul_(factor * (wanted / divisor));
  }

  // V of each of blocks_, views of the one buffer: [m, 1] or [1, n], behind [blocks] where there
  // are several.
  std::vector<at::Tensor> statistics(const OptimizerConfig& options) {
    const bool longer = options.text("convention") == "modded_nanogpt";
    const at::Tensor all = buffer(longer ? "mean_square" : "row_mean_square").view(-1);
    std::vector<at::Tensor> parts;
    int64_t at = 0;
    for (const RowBlocks& part : blocks_) {
      const int64_t cols = route_.shape[1];
      const bool columns = evens_out_columns(options, part.rows, cols);
      const int64_t each = columns ? cols : part.rows;
      const at::Tensor v = all.narrow(0, at, part.blocks * each)
                               .view({part.blocks, columns ? 1 : each, columns ? each : 1});
      parts.push_back(part.blocks == 1 ? v[0] : v);
      at += part.blocks * each;
    }
    return parts;
  }

  const std::string convention_;
  const double beta2_;
  const bool unit_norm_;  // scaled to norm 1 instead of n0: the rate holds 0.2 sqrt(m n)
  std::vector<at::Tensor> v_;
};

}  // namespace

std::unique_ptr<UpdateRule> normuon(const OptimizerConfig& options, const Route& route,
                                    const at::Tensor& weight) {
  return std::make_unique<NorMuon>(options, route, weight);
}

}  // namespace draftlab::rules
