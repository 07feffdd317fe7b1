#include <algorithm>
#include <cmath>
#include <limits>

#include "model/losses/cross_entropy.h"

namespace draftlab::losses {
namespace {

// SpecForge's three forms. Of one block: s_k = (1 - alpha) q_k + alpha where slot k is supervised,
// else 1; P_k = s_0 ... s_k, the confidence that slots 0..k are all accepted; C_k = sum over
// supervised j >= k of P_j, what slot k is worth with all that may follow.
std::vector<double> weights(const LossConfig& config, const SlotLosses& slots) {
  const double alpha = config.options.at("alpha").to_number<double>();
  const auto& variant = config.options.at("variant").as_string();
  const auto block_size = static_cast<size_t>(slots.block_size);
  std::vector<double> weights(slots.losses.size(), 0), confidence(block_size);
  for (size_t first = 0; first < weights.size(); first += block_size) {
    double product = 1;
    for (size_t k = 0; k < block_size; ++k) {
      if (slots.supervised[first + k])
        product *= (1 - alpha) * std::exp(-slots.losses[first + k]) + alpha;
      confidence[k] = product;
    }
    double continuation = 0;
    for (size_t k = block_size; k-- > 0;) {
      if (!slots.supervised[first + k]) continue;
      continuation += confidence[k];
      weights[first + k] =
          variant == "cumulative-confidence-only" ? confidence[k]
          : variant == "continuation-value-only"
              ? continuation / std::max(confidence[k], std::numeric_limits<double>::min())
              : continuation;
    }
  }
  return weights;
}

}  // namespace

const LossRule dpace_rule = {"dpace", cross_entropy, cross_entropy, plain_cross_entropy, weights};

}  // namespace draftlab::losses
