#include "base/error.h"
#include "base/json.h"
#include "target_model/checkpoint.h"

namespace draftlab {

void check_config(const TransformerConfig& c, const std::string& where) {
  constexpr double kMost = 1 << 24;  // products of two fit 64 bits, and of a third
  const auto check = [&](const char* name, int64_t value, double low = 1) {
    require_between(static_cast<double>(value), low, kMost, where + ": " + name);
  };
  check("number of layers", c.layers);
  check("hidden size", c.hidden_size);
  check("number of heads", c.heads);
  check("number of key and value heads", c.kv_heads);
  check("head_dim", c.head_dim, 2);
  check("intermediate size", c.intermediate_size);
  check("vocabulary", c.vocab_size);
  check("context length", c.context_length);
  if (c.heads % c.kv_heads != 0)
    throw Error(where, "number of heads must be a multiple of that of key and value heads");
  if (c.head_dim % 2 != 0) throw Error(where, "head_dim must be even, for the rotation");
  if (!(c.rms_norm_eps >= 0 && c.rms_norm_eps < 1))
    throw Error(where, "epsilon of the norms must lie between 0 and 1");
  if (!(c.rope_theta > 0 && c.rope_theta < 1e18))
    throw Error(where, "base of the rotation must be above 0");
}

}  // namespace draftlab
