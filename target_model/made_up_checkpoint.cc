#include <cmath>

#include "base/hash.h"
#include "base/random.h"
#include "target_model/checkpoint.h"

namespace draftlab {
namespace {

constexpr double kResidual = 0.35;

// Weights from the seed and the tensor's name: embedding N(0, 1), norms 1, matrices N(0, 1 / in),
// those that write to the residual stream at a third of that, so that no layer drowns the token's
// own embedding. The head is a matrix of its own: tied to the embedding, the likeliest next token
// would be the last one again, for ever. With logits of standard deviation logit_scale a token has
// a few likely successors, which depend a little on the text before: text that a drafter can learn,
// but not at once.
class MadeUpWeights : public WeightSource {
 public:
  explicit MadeUpWeights(const MadeUpTarget& description) : description_(description) {}

  void read(const std::string& name, const std::vector<int64_t>& shape, float* out) override {
    int64_t count = 1;
    for (const int64_t side : shape) count *= side;
    if (shape.size() == 1) {
      std::fill(out, out + count, 1.f);
      return;
    }
    double deviation = 1 / std::sqrt(static_cast<double>(shape[1]));
    if (name == "model.embed_tokens.weight") deviation = 1;
    if (name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight"))
      deviation *= kResidual;
    if (name == "lm_head.weight") deviation *= description_.logit_scale;
    Random random(description_.seed, name);
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(deviation * random.normal());
  }

  void finish() override {}

 private:
  MadeUpTarget description_;
};

}  // namespace

TargetCheckpoint make_up_target(const MadeUpTarget& d) {
  TargetCheckpoint checkpoint;
  checkpoint.name = "made up";
  checkpoint.sha256 = sha256_hex(canonical(to_json(TargetSource{"made_up", {}, d})));
  TransformerConfig& c = checkpoint.config;
  c.architecture = "llama";
  c.layers = d.layers;
  c.hidden_size = d.hidden_size;
  c.heads = d.heads;
  c.kv_heads = d.kv_heads;
  c.head_dim = d.head_dim;
  c.intermediate_size = d.intermediate_size;
  c.vocab_size = d.vocab_size;
  c.context_length = 4096;
  checkpoint.weights = std::make_unique<MadeUpWeights>(d);
  return checkpoint;
}

}  // namespace draftlab
