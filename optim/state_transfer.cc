#include "optim/state_transfer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/number_text.h"
#include "optim/update_rule.h"
#include "record/buffer.h"

namespace draftlab {
namespace {

using Meaning = Buffer::Meaning;

NamedTensors buffers_of(const NamedTensors& state, const std::string& tensor) {
  NamedTensors buffers;
  const std::string prefix = tensor + "/";
  for (auto it = state.lower_bound(prefix); it != state.end() && it->first.starts_with(prefix);
       ++it)
    buffers[it->first.substr(prefix.size())] = it->second;
  return buffers;
}

int64_t steps_of(const NamedTensors& buffers, const std::string& counter) {
  const auto found = buffers.find(counter);
  return found == buffers.end() ? 0 : found->second.item<int64_t>();
}

// The mean of each of `blocks` for each entry of a weight; each entry itself, where there are none.
at::Tensor for_each_entry(const at::Tensor& v, const std::vector<int64_t>& blocks,
                          at::IntArrayRef shape) {
  if (blocks.empty()) return v;
  return v.repeat_interleave(at::tensor(blocks, at::kLong).to(v.device())).view(shape);
}

at::Tensor for_each_block(const at::Tensor& v, const std::vector<int64_t>& blocks) {
  if (blocks.empty()) return v;
  std::vector<at::Tensor> means;
  for (const at::Tensor& block : v.reshape(-1).split_with_sizes(blocks))
    means.push_back(block.mean());
  return at::stack(means);
}

double mass(double beta, int64_t steps) { return 1 - std::pow(beta, static_cast<double>(steps)); }

// Which of the old averages becomes `wanted`: under the same rule the one of its name, else the one
// with the nearest decay. Null: there is none.
const Buffer* source_of(const Buffer& wanted, const std::vector<Buffer>& old, bool same_rule) {
  const Buffer* nearest = nullptr;
  for (const Buffer& each : old) {
    if (each.meaning != wanted.meaning) continue;
    if (same_rule && each.name == wanted.name) return &each;
    if (nearest == nullptr ||
        std::abs(each.beta - wanted.beta) < std::abs(nearest->beta - wanted.beta))
      nearest = &each;
  }
  return nearest;
}

const Buffer* named(const std::string& name, const std::vector<Buffer>& buffers) {
  const auto found = std::find_if(buffers.begin(), buffers.end(),
                                  [&](const Buffer& each) { return each.name == name; });
  return found == buffers.end() ? nullptr : &*found;
}

// One tensor's transfer: fills `fresh`, the zeros of the new rule.
class TensorTransfer {
 public:
  TensorTransfer(const OptimizerConfig& from, const Route& from_route, const NamedTensors& old,
                 const OptimizerConfig& to, const Route& to_route, const NamedTensors& fresh,
                 std::vector<TransferRow>& rows)
      : same_rule_(from_route.rule == to_route.rule),
        same_split_(from_route.split == to_route.split),
        declared_old_(buffers(from, from_route)),
        declared_(buffers(to, to_route)),
        old_(old),
        to_route_(to_route),
        fresh_(fresh),
        rows_(rows) {}

  void run() {
    others_carried_ = carry_others();
    for (const Buffer& buffer : declared_)
      if (buffer.meaning == Meaning::kMeanGradient) carry_with_its_divisor(buffer);
    carry_kept_squares();
    for (const Buffer& buffer : declared_)
      if (buffer.meaning == Meaning::kRadius) carry_radius(buffer);
    for (const auto& [buffer, tensor] : fresh_) {
      if (!filled_.contains(buffer))
        report(buffer, "reset", why_.contains(buffer) ? why_.at(buffer) : "zeros");
    }
    for (const auto& [buffer, tensor] : old_) {
      if (!used_.contains(buffer) && !fresh_.contains(buffer))
        report(buffer, "dropped", dropped(buffer));
    }
  }

 private:
  std::string dropped(const std::string& buffer) const {
    const Buffer* declared = named(buffer, declared_old_);
    return declared != nullptr && declared->meaning == Meaning::kRadius
               ? "the norm is free from here on"
               : "means nothing to " + to_route_.rule;
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

  // Statistics, preconditioners and rotated moments: as a whole, by the same rule with the same
  // shapes. Returns whether they are all there.
  bool carry_others() {
    std::vector<std::string> names;
    for (const Buffer& buffer : declared_) {
      if (buffer.meaning != Meaning::kOther && buffer.meaning != Meaning::kCounter) continue;
      names.push_back(buffer.name);
      if (!buffer.steps.empty()) names.push_back(buffer.steps);
    }
    for (const std::string& name : names) {
      const auto found = old_.find(name);
      if (!same_rule_ || found == old_.end() || found->second.sizes() != fresh_.at(name).sizes())
        return false;
    }
    for (const std::string& name : names) carry(name, name);
    return true;
  }

  // A mean gradient; one that the update divides by the root of a mean square only together with
  // that.
  void carry_with_its_divisor(const Buffer& target) {
    const Buffer* source = source_of(target, declared_old_, same_rule_);
    if (source == nullptr || !old_.contains(source->name)) return;
    if (target.divided_by.empty()) return carry_mean(*source, target);
    const Buffer& divisor = *named(target.divided_by, declared_);
    if (divisor.meaning == Meaning::kOther) {
      if (!others_carried_)
        return both_reset(
            target, divisor,
            to_route_.rule + "'s mean square is kept in a basis that is not known yet");
      return carry_mean(*source, target);
    }
    const Buffer* square = source_of(divisor, declared_old_, same_rule_);
    if (square == nullptr)
      return both_reset(target, divisor,
                        "there is no mean square that goes with the mean gradient");
    if (source->divided_by != square->name && !fits(*square, *source))
      return both_reset(target, divisor, "the shadow has not seen all that the momentum remembers");
    carry_mean(*source, target);
    if (!filled_.contains(divisor.name)) carry_square(*square, divisor);
  }

  // Mean squares that are only kept, for a switch to come.
  void carry_kept_squares() {
    for (const Buffer& target : declared_) {
      if (target.meaning != Meaning::kMeanSquare || filled_.contains(target.name) ||
          why_.contains(target.name))
        continue;
      if (const Buffer* source = source_of(target, declared_old_, same_rule_))
        carry_square(*source, target);
    }
  }

  // The norm that a weight keeps goes with it from rule to rule, as long as its blocks stay.
  void carry_radius(const Buffer& target) {
    why_[target.name] = "the norm at the switch, which the next step takes";
    for (const Buffer& source : declared_old_) {
      if (source.meaning == Meaning::kRadius && same_split_ && old_.contains(source.name))
        return carry(target.name, source.name);
    }
  }

  // Whether what a mean gradient remembers is also in a mean square that does not divide it: the
  // two began together, or what the former had before has decayed to a hundredth; and the latter
  // forgets more slowly (Cauchy and Schwarz: m^2 / v stays bounded for beta1^2 < beta2).
  bool fits(const Buffer& square, const Buffer& mean) const {
    const int64_t seen = steps_of(old_, square.steps);
    return seen > 0 && mean.beta * mean.beta < square.beta &&
           (seen >= steps_of(old_, mean.steps) ||
            std::pow(mean.beta, static_cast<double>(seen)) <= 0.01);
  }

  void both_reset(const Buffer& mean, const Buffer& divisor, const std::string& why) {
    for (const Buffer* buffer : {&mean, &divisor}) why_[buffer->name] = why_[buffer->steps] = why;
  }

  // The factor that keeps the size of a young average where another decay corrects its bias.
  double correction(const Buffer& source, const Buffer& target, std::string& how) const {
    const int64_t steps = steps_of(old_, source.steps);
    if (source.beta == target.beta || steps == 0) return 1;
    const double factor = mass(target.beta, steps) / mass(source.beta, steps);
    how += " * " + significant(factor, 4) + ", the ratio of the bias corrections";
    return factor;
  }

  void carry_mean(const Buffer& source, const Buffer& target) {
    double factor = source.factor / target.factor;
    std::string how = source.name;
    if (source.factor != target.factor) {
      if (source.factor != 1) how += " * " + source.factor_text;
      if (target.factor != 1) how += " / " + target.factor_text;
    }
    // A sign or an orthogonalization has no scale, and corrects nothing.
    if (!target.divided_by.empty()) factor *= correction(source, target, how);
    fill(target.name, source.name, old_.at(source.name), factor, how);
    carry(target.steps, source.steps);
  }

  void carry_square(const Buffer& source, const Buffer& target) {
    const at::Tensor& old = old_.at(source.name);
    const at::Tensor value =
        source.blocks == target.blocks
            ? old
            : for_each_block(for_each_entry(old, source.blocks, to_route_.shape), target.blocks);
    std::string how = source.name;
    if (!value.is_same(old)) how += ", means of blocks";
    const double factor = correction(source, target, how);
    fill(target.name, source.name, value, factor, how);
    carry(target.steps, source.steps);
  }

  const bool same_rule_, same_split_;
  const std::vector<Buffer> declared_old_, declared_;
  const NamedTensors& old_;
  const Route& to_route_;
  const NamedTensors& fresh_;
  std::vector<TransferRow>& rows_;
  bool others_carried_ = false;
  std::set<std::string> filled_, used_;     // of fresh_, of old_
  std::map<std::string, std::string> why_;  // a buffer of fresh_ is reset
};

// The dtype and device that a tensor's old buffers have, else those of any.
at::TensorOptions options_of(const NamedTensors& old, const NamedTensors& state) {
  for (const NamedTensors* buffers : {&old, &state}) {
    for (const auto& [name, tensor] : *buffers)
      if (tensor.is_floating_point()) return tensor.options();
  }
  return at::kFloat;
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
    const NamedTensors old = buffers_of(state, route.name),
                       fresh = zeros(buffers(to, route), options_of(old, state));
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
    for (const Buffer& buffer : buffers(from, route)) {
      const std::string name = route.name + "/" + buffer.name;
      if (!state.contains(name)) {
        throw Error(name,
                    "is missing in the saved optimizer state; it was saved by another optimizer "
                    "than " +
                        from.kind);
      }
    }
  }
  return transfer(state, from, from_table, to, to_table);
}

Transfer reset_state(const NamedTensors& state, const OptimizerConfig& to,
                     const std::vector<Route>& to_table) {
  return transfer(state, to, {}, to, to_table);
}

}  // namespace draftlab
