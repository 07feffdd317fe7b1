#include "optim/state_transfer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/number_text.h"
#include "optim/update_rule.h"

namespace draftlab {
namespace {

using Buffers = std::map<std::string, at::Tensor>;  // of one tensor, by "exp_avg", ...

Buffers buffers_of(const NamedTensors& state, const std::string& tensor) {
  Buffers buffers;
  const std::string prefix = tensor + "/";
  for (auto it = state.lower_bound(prefix); it != state.end() && it->first.starts_with(prefix);
       ++it)
    buffers[it->first.substr(prefix.size())] = it->second;
  return buffers;
}

int64_t steps_of(const Buffers& buffers, const std::string& buffer) {
  const auto found = buffers.find(buffer);
  return found == buffers.end() ? 0 : found->second.item<int64_t>();
}

// How a rule keeps its mean gradient: M = factor * buffer, an average with decay beta.
struct FirstMoment {
  std::string buffer, steps;
  double beta, factor;
  std::string text;  // the factor, in words
};

std::optional<FirstMoment> first_moment(const OptimizerConfig& config, const Route& route) {
  const std::string& rule = route.rule;
  if (rule == "frozen") return std::nullopt;
  if (rule == "adamw" || rule == "adam_mini" || rule == "soap" || rule == "shampoo") {
    const std::string prefix = rule == "adamw" ? config.adamw_prefix() : "";
    return FirstMoment{"exp_avg", "exp_avg_steps", config.number(prefix + "beta1"), 1, ""};
  }
  if (rule == "lion") return FirstMoment{"exp_avg", "exp_avg_steps", config.number("beta2"), 1, ""};
  const double mu = config.number("momentum");
  if (config.text("momentum_form") == "lerp")
    return FirstMoment{"momentum", "momentum_steps", mu, 1, ""};
  return FirstMoment{"momentum_sum", "momentum_steps", mu, 1 - mu, "(1 - momentum)"};
}

// The decay of the mean squared gradient "exp_avg_sq" of a rule, 0 if it has none.
double second_beta(const OptimizerConfig& config, const Route& route) {
  if (route.rule == "adamw") return config.number(config.adamw_prefix() + "beta2");
  if (route.rule == "adam_mini" || route.rule == "shampoo") return config.number("beta2");
  return config.has("shadow_beta2") && route.rule != "frozen" && route.rule != "lion"
             ? config.number("shadow_beta2")
             : 0;
}

bool divides_by_root(const std::string& rule) {
  return rule == "adamw" || rule == "adam_mini" || rule == "shampoo" || rule == "soap";
}

// Whether a rule corrects the bias of its mean gradient. Signs and orthogonalizations have no
// scale.
bool corrects_bias(const std::string& rule) { return divides_by_root(rule); }

// The mean squared gradient for each entry of the weight.
at::Tensor for_each_entry(const at::Tensor& v, const Route& route) {
  if (route.rule != "adam_mini") return v;
  const std::vector<int64_t> blocks = adam_mini_blocks(route);
  return v.repeat_interleave(at::tensor(blocks, at::kLong).to(v.device())).view(route.shape);
}

at::Tensor for_each_block(const at::Tensor& v, const Route& route) {
  if (route.rule != "adam_mini") return v;
  std::vector<at::Tensor> means;
  for (const at::Tensor& block : v.reshape(-1).split_with_sizes(adam_mini_blocks(route)))
    means.push_back(block.mean());
  return at::stack(means);
}

double mass(double beta, int64_t steps) { return 1 - std::pow(beta, static_cast<double>(steps)); }

// Whether what the momentum remembers is also in its shadow: the two began together, or what the
// momentum had before has decayed to a hundredth; and the shadow forgets more slowly (Cauchy and
// Schwarz: m^2 / v stays bounded for momentum^2 < beta2).
bool shadow_fits(const Buffers& old, double mu, double beta2) {
  const int64_t shadow = steps_of(old, "exp_avg_sq_steps");
  return shadow > 0 && mu * mu < beta2 &&
         (shadow >= steps_of(old, "momentum_steps") ||
          std::pow(mu, static_cast<double>(shadow)) <= 0.01);
}

// One tensor's transfer: fills `fresh`, the zeros of the new rule.
class TensorTransfer {
 public:
  TensorTransfer(const OptimizerConfig& from, const Route& from_route, const Buffers& old,
                 const OptimizerConfig& to, const Route& to_route, const Buffers& fresh,
                 std::vector<TransferRow>& rows)
      : from_(from),
        from_route_(from_route),
        old_(old),
        to_(to),
        to_route_(to_route),
        fresh_(fresh),
        rows_(rows) {}

  void run() {
    const bool others = carry_others();
    carry_moments(others);
    for (const auto& [buffer, tensor] : fresh_) {
      if (!filled_.contains(buffer))
        report(buffer, "reset", why_.contains(buffer) ? why_.at(buffer) : "zeros");
    }
    for (const auto& [buffer, tensor] : old_) {
      if (!used_.contains(buffer) && !fresh_.contains(buffer))
        report(buffer, "dropped", "means nothing to " + to_route_.rule);
    }
  }

 private:
  bool same_rule() const { return from_route_.rule == to_route_.rule; }

  static bool is_moment(const std::string& buffer) {
    return buffer.starts_with("exp_avg") || buffer.starts_with("momentum");
  }

  void report(const std::string& buffer, const std::string& fate, const std::string& how) {
    rows_.push_back({to_route_.name, buffer, fate, how});
  }

  // fresh[buffer] <- factor * value
  void fill(const std::string& buffer, const std::string& source, const at::Tensor& value,
            double factor, const std::string& how) {
    const bool same = factor == 1 && value.is_same(old_.at(source));
    fresh_.at(buffer).copy_(factor == 1 ? value : value * factor);
    filled_.insert(buffer);
    used_.insert(source);
    report(buffer, same ? "carried" : "converted", how);
  }

  void carry(const std::string& buffer, const std::string& source) {
    fill(buffer, source, old_.at(source), 1, source);
  }

  // Statistics, preconditioners and SOAP's rotated moment: as a whole, by the same rule with the
  // same shapes. Returns whether they are all there.
  bool carry_others() {
    const auto other = [](const std::string& buffer) {
      return !is_moment(buffer) || buffer.find("rotated") != std::string::npos;
    };
    for (const auto& [buffer, tensor] : fresh_) {
      if (!other(buffer)) continue;
      const auto found = old_.find(buffer);
      if (!same_rule() || found == old_.end() || found->second.sizes() != tensor.sizes())
        return false;
    }
    for (const auto& [buffer, tensor] : fresh_)
      if (other(buffer)) carry(buffer, buffer);
    return true;
  }

  void carry_moments(bool others) {
    const auto source = first_moment(from_, from_route_), target = first_moment(to_, to_route_);
    if (!source || !target || !old_.contains(source->buffer)) return;
    const bool squares = old_.contains("exp_avg_sq");
    if (to_route_.rule == "soap") {
      if (!others) return both_reset("SOAP's mean square is kept in a basis that is not known yet");
    } else if (divides_by_root(to_route_.rule)) {
      if (!squares) return both_reset("there is no mean square that goes with the mean gradient");
      if (!divides_by_root(from_route_.rule) &&
          !shadow_fits(old_, source->beta, second_beta(from_, from_route_)))
        return both_reset("the shadow has not seen all that the momentum remembers");
    }
    carry_first(*source, *target);
    if (squares && fresh_.contains("exp_avg_sq")) carry_second();
  }

  void both_reset(const std::string& why) {
    for (const auto& [buffer, tensor] : fresh_)
      if (is_moment(buffer)) why_[buffer] = why;
  }

  void carry_first(const FirstMoment& source, const FirstMoment& target) {
    const int64_t steps = steps_of(old_, source.steps);
    double factor = source.factor / target.factor;
    std::string how = source.buffer;
    if (source.factor != target.factor) {
      if (source.factor != 1) how += " * " + source.text;
      if (target.factor != 1) how += " / " + target.text;
    }
    if (corrects_bias(to_route_.rule) && source.beta != target.beta && steps > 0) {
      const double correction = mass(target.beta, steps) / mass(source.beta, steps);
      factor *= correction;
      how += " * " + significant(correction, 4) + ", the ratio of the bias corrections";
    }
    fill(target.buffer, source.buffer, old_.at(source.buffer), factor, how);
    carry(target.steps, source.steps);
  }

  void carry_second() {
    const at::Tensor& old = old_.at("exp_avg_sq");
    const bool same_blocks = same_rule() && from_route_.split == to_route_.split;
    const at::Tensor value =
        same_blocks || (from_route_.rule != "adam_mini" && to_route_.rule != "adam_mini")
            ? old
            : for_each_block(for_each_entry(old, from_route_), to_route_);
    const double old_beta = second_beta(from_, from_route_), beta = second_beta(to_, to_route_);
    const int64_t steps = steps_of(old_, "exp_avg_sq_steps");
    std::string how = "exp_avg_sq";
    if (!value.is_same(old)) how += ", means of blocks";
    double factor = 1;
    if (old_beta != beta && steps > 0) {
      factor = mass(beta, steps) / mass(old_beta, steps);
      how += " * " + significant(factor, 4) + ", the ratio of the bias corrections";
    }
    fill("exp_avg_sq", "exp_avg_sq", value, factor, how);
    carry("exp_avg_sq_steps", "exp_avg_sq_steps");
  }

  const OptimizerConfig& from_;
  const Route& from_route_;
  const Buffers& old_;
  const OptimizerConfig& to_;
  const Route& to_route_;
  const Buffers& fresh_;
  std::vector<TransferRow>& rows_;
  std::set<std::string> filled_, used_;     // of fresh_, of old_
  std::map<std::string, std::string> why_;  // a buffer of fresh_ is reset
};

// Zeros for `route`, with the dtype and device that the tensor's old buffers have, else any.
Buffers zeros(const OptimizerConfig& config, const Route& route, const Buffers& old,
              const NamedTensors& state) {
  if (route.rule == "frozen") return {};
  at::TensorOptions options = at::kFloat;
  const auto floating = [&](const auto& buffers) {
    const auto found = std::find_if(buffers.begin(), buffers.end(), [](const auto& each) {
      return each.second.is_floating_point();
    });
    if (found == buffers.end()) return false;
    options = found->second.options();
    return true;
  };
  if (!floating(old)) floating(state);
  const at::Tensor shape = at::empty({}, options).expand(route.shape);  // no memory
  return make_update_rule(config, route, shape)->state();
}

Transfer transfer(const NamedTensors& state, const OptimizerConfig& from,
                  const std::vector<Route>& from_table, const OptimizerConfig& to,
                  const std::vector<Route>& to_table) {
  Transfer result;
  std::set<std::string> tensors;
  for (const Route& route : to_table) {
    const Route frozen{route.name, route.shape, "frozen", route.split, {}, 0};
    const auto before = std::find_if(from_table.begin(), from_table.end(),
                                     [&](const Route& each) { return each.name == route.name; });
    const Buffers old = buffers_of(state, route.name), fresh = zeros(to, route, old, state);
    TensorTransfer(from, before == from_table.end() ? frozen : *before, old, to, route, fresh,
                   result.rows)
        .run();
    for (const auto& [buffer, tensor] : fresh) result.state[route.name + "/" + buffer] = tensor;
    tensors.insert(route.name);
  }
  for (const auto& [name, tensor] : state) {
    const size_t slash = name.rfind('/');
    const std::string owner = name.substr(0, slash);
    if (tensors.contains(owner)) continue;
    const std::string buffer = slash == std::string::npos ? "" : name.substr(slash + 1);
    result.rows.push_back({owner, buffer, "dropped", "the tensor is in no routing table"});
  }
  return result;
}

}  // namespace

Transfer transfer_state(const NamedTensors& state, const OptimizerConfig& from,
                        const std::vector<Route>& from_table, const OptimizerConfig& to,
                        const std::vector<Route>& to_table) {
  for (const Route& route : from_table) {
    const auto source = first_moment(from, route);
    if (source && !state.contains(route.name + "/" + source->buffer)) {
      throw Error(
          route.name + "/" + source->buffer,
          "is missing in the saved optimizer state; it was saved by another optimizer than " +
              from.kind);
    }
  }
  return transfer(state, from, from_table, to, to_table);
}

Transfer reset_state(const NamedTensors& state, const OptimizerConfig& to,
                     const std::vector<Route>& to_table) {
  return transfer(state, to, {}, to, to_table);
}

}  // namespace draftlab
