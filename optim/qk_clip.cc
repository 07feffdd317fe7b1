#include "optim/qk_clip.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace draftlab {

void qk_clip(const at::Tensor& q_weight, const at::Tensor& k_weight,
             const at::Tensor& largest_logits, double threshold) {
  const int64_t heads = largest_logits.numel();
  const int64_t rows = heads == 0 ? 0 : q_weight.size(0) / heads;  // of one head
  if (rows == 0 || q_weight.size(0) % heads != 0 || k_weight.size(0) % rows != 0 ||
      heads % std::max<int64_t>(1, k_weight.size(0) / rows) != 0) {
    throw Error("qk_clip", std::to_string(q_weight.size(0)) + " rows of queries and " +
                               std::to_string(k_weight.size(0)) + " of keys do not divide into " +
                               std::to_string(heads) + " heads");
  }
  const int64_t key_heads = k_weight.size(0) / rows;
  const at::Tensor logits = largest_logits.reshape(-1).to(at::kCPU, at::kDouble);
  at::Tensor factors = at::ones({key_heads}, at::kDouble);
  for (int64_t head = 0; head < heads; ++head) {
    const double logit = logits[head].item<double>();
    if (!std::isfinite(logit))
      throw Error("qk_clip", "the largest attention logit of head " + std::to_string(head) +
                                 " is not finite; look for a diverged loss");
    const at::Tensor factor = factors[head / (heads / key_heads)];
    if (logit > threshold) factor.clamp_max_(std::sqrt(threshold / logit));
  }
  factors = factors.to(q_weight.device()).view({key_heads, 1});
  q_weight.view({key_heads, -1}).mul_(factors);  // a group of query heads a row
  k_weight.view({key_heads, -1}).mul_(factors);
}

}  // namespace draftlab
