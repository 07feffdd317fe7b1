// Layer type "gated_delta_net". Names, shapes and options as in Hugging Face's Qwen3.5.
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "record/layers/layer_kind.h"

namespace draftlab {
namespace {

std::vector<LayerOption> options() {
  return {{"linear_num_key_heads"},           // nk, divides nv
          {"linear_num_value_heads"},         // nv
          {"linear_key_head_dim"},            // dk
          {"linear_value_head_dim"},          // dv
          {"linear_conv_kernel_dim", 1, 4}};  // taps, the row itself included
}

void check(const DrafterConfig& config, const Fields& fields) {
  const int64_t key = config.layer_option("linear_num_key_heads");
  const int64_t value = config.layer_option("linear_num_value_heads");
  if (value % key != 0) {
    throw Error(fields.where("linear_num_key_heads"), "must divide linear_num_value_heads (" +
                                                          std::to_string(value) + "), is " +
                                                          std::to_string(key));
  }
}

int64_t keys(const DrafterConfig& config) {
  return config.layer_option("linear_num_key_heads") * config.layer_option("linear_key_head_dim");
}
int64_t values(const DrafterConfig& config) {
  return config.layer_option("linear_num_value_heads") *
         config.layer_option("linear_value_head_dim");
}

// Initial values of flash-linear-attention's layer (fla/layers/gated_deltanet.py, after Mamba 2):
// decays e^(-A dt) of a row with A uniform in (0, 16] and dt log-uniform in [1e-3, 1e-1], so that
// heads remember from one row to thousands. Hugging Face's dt = softplus(1) = 1.3 with the same A
// forgets nearly all within a row.
double initial_a_log(Random& random) { return std::log(16 * (1 - random.uniform())); }

double initial_dt_bias(Random& random) {
  const double low = std::log(1e-3), high = std::log(1e-1);
  const double dt = std::exp(low + (high - low) * random.uniform());
  return dt + std::log(-std::expm1(-dt));  // softplus of this is dt
}

// PyTorch's for a depth-wise convolution: uniform within +-1/sqrt(taps).
auto initial_tap(int64_t taps) {
  return [bound = 1 / std::sqrt(static_cast<double>(taps))](Random& random) {
    return bound * (2 * random.uniform() - 1);
  };
}

// What is no matrix takes no weight decay: a decay of A_log or dt_bias would pull every head to one
// and the same memory.
std::vector<ParameterShape> parameters(const DrafterConfig& config) {
  const int64_t hidden = config.hidden_size, heads = config.layer_option("linear_num_value_heads");
  const int64_t qkv = 2 * keys(config) + values(config);
  const int64_t taps = config.layer_option("linear_conv_kernel_dim");
  const auto undecayed = [](std::string name, std::vector<int64_t> shape,
                            std::function<double(Random&)> initial) {
    return ParameterShape{std::move(name), std::move(shape), 0, false, std::move(initial)};
  };
  return {undecayed("linear_attn.A_log", {heads}, initial_a_log),
          undecayed("linear_attn.conv1d.weight", {qkv, 1, taps}, initial_tap(taps)),
          undecayed("linear_attn.dt_bias", {heads}, initial_dt_bias),
          {"linear_attn.in_proj_a.weight", {heads, hidden}},
          {"linear_attn.in_proj_b.weight", {heads, hidden}},
          {"linear_attn.in_proj_qkv.weight", {qkv, hidden}},
          {"linear_attn.in_proj_z.weight", {values(config), hidden}},
          undecayed("linear_attn.norm.weight", {config.layer_option("linear_value_head_dim")}, {}),
          {"linear_attn.out_proj.weight", {hidden, values(config)}}};
}

double operations(const DrafterConfig& config, const LayerPass& pass) {
  const double h = static_cast<double>(config.hidden_size);
  const double k = static_cast<double>(keys(config)), v = static_cast<double>(values(config));
  const double heads = static_cast<double>(config.layer_option("linear_num_value_heads"));
  const double taps = static_cast<double>(config.layer_option("linear_conv_kernel_dim"));
  const double dk = static_cast<double>(config.layer_option("linear_key_head_dim"));
  // A row of the recurrence reads the state of a head with its key, changes it, and reads it again
  // with its query.
  const double recurrence = 2 * (2 * dk * v), reading = 2 * dk * v;
  const double row = 2 * h * (2 * k + v + 2 * heads) + 2 * taps * (2 * k + v) + recurrence;
  return (pass.context_rows + pass.block_rows) * row +
         pass.block_rows * (reading + 2 * h * v + 2 * h * v);
}

}  // namespace

const LayerKind& gated_delta_net() {
  static const LayerKind kind = {"gated_delta_net", options(), check, parameters, operations};
  return kind;
}

}  // namespace draftlab
