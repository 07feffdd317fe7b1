#include "optim/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/stopwatch.h"
#include "optim/telemetry.h"
#include "optim/update_rule.h"
#include "record/buffer.h"
#include "record/optimizer_kind.h"

namespace draftlab {
namespace {

std::string shape_text(at::IntArrayRef shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}

void check_weight(const Route& route, const at::Tensor& weight) {
  if (weight.sizes() != at::IntArrayRef(route.shape)) {
    throw Error(route.name, "has shape " + shape_text(weight.sizes()) + ", and " +
                                shape_text(route.shape) + " in the routing table");
  }
  const at::ScalarType dtype = weight.scalar_type();
  if (dtype != at::kFloat && dtype != at::kDouble && dtype != at::kBFloat16)
    throw Error(route.name, "must be float32, float64 or bfloat16 to be trained");
  if (!weight.is_contiguous()) throw Error(route.name, "must be contiguous to be trained");
}

// In one vectorized pass, which ATen's infinity norm and isfinite are not; NaN comes through both
// ends.
bool all_finite(const at::Tensor& x) {
  const auto [least, most] = at::aminmax(x);
  return std::isfinite(least.item<double>()) && std::isfinite(most.item<double>());
}

bool same_rule(const Route& a, const Route& b) {
  return a.shape == b.shape && a.rule == b.rule && a.split == b.split &&
         a.learning_rates == b.learning_rates && a.weight_decay == b.weight_decay;
}

}  // namespace

Optimizer::Optimizer(const OptimizerConfig& config, const std::vector<Route>& table,
                     NamedTensors parameters)
    : config_(config) {
  std::map<const void*, size_t> owners;  // the first route of each tensor
  for (size_t i = 0; i < table.size(); ++i) {
    const Route& route = table[i];
    const auto found = parameters.find(route.name);
    if (found == parameters.end())
      throw Error(route.name, "is in the routing table, but the drafter has no such weight");
    const at::Tensor weight = found->second;
    parameters.erase(found);
    check_weight(route, weight);
    const auto [owner, first] = owners.emplace(weight.const_data_ptr(), i);
    if (weight.numel() > 0 && !first) {
      const Route& other = table[owner->second];
      if (!same_rule(route, other))
        throw Error(route.name, "is the same tensor as " + other.name +
                                    ", but the routing table updates them differently; give both "
                                    "one rule, or freeze both");
      if (route.rule != "frozen") {
        const auto rule = std::find_if(rules_.begin(), rules_.end(), [&](const auto& each) {
          return each->route().name == other.name;
        });
        tied_.emplace_back(route.name, rule - rules_.begin());
      }
      continue;
    }
    if (route.rule == "frozen") continue;
    rules_.push_back(make_update_rule(config, route, weight));
    weights_.push_back(weight);
  }
  if (!parameters.empty()) throw Error(parameters.begin()->first, "is not in the routing table");
}

Optimizer::~Optimizer() = default;

std::vector<const at::Tensor*> Optimizer::in_order(const NamedTensors& gradients) const {
  std::vector<const at::Tensor*> ordered;
  for (size_t i = 0; i < rules_.size(); ++i) {
    const std::string& name = rules_[i]->route().name;
    const auto found = gradients.find(name);
    if (found == gradients.end() || found->second.sizes() != weights_[i].sizes())
      throw Error(name, "has no gradient of its shape");
    if (rules_[i]->kind().needs_finite_gradients && !all_finite(found->second)) {
      throw Error(name, "has NaN or infinity in its gradient, which " + rules_[i]->route().rule +
                            " cannot use; no weight has changed. Look for a diverged loss");
    }
    ordered.push_back(&found->second);
  }
  for (const auto& [name, i] : tied_) {
    const auto found = gradients.find(name);
    if (found != gradients.end() && found->second.const_data_ptr() != ordered[i]->const_data_ptr())
      throw Error(name, "has a gradient of its own, but is the same tensor as " +
                            rules_[i]->route().name +
                            "; add it to that one's gradient and leave it out");
  }
  return ordered;
}

void Optimizer::update(size_t i, const at::Tensor& gradient, double schedule, Scratch& scratch,
                       OrthogonalizationSample* sample) {
  const c10::NoGradGuard no_grad;  // of this thread
  UpdateRule& rule = *rules_[i];
  at::Tensor& weight = weights_[i];
  // In the dtype of the state, and contiguous.
  const auto widened = [&](const at::Tensor& x, size_t slot) {
    if (x.scalar_type() == rule.like().scalar_type() && x.is_contiguous()) return x;
    return scratch.matrices.matrix(slot, 1, x.numel(), rule.like()).view(x.sizes()).copy_(x);
  };
  try {
    at::Tensor wide = widened(weight, Scratch::kWeight);
    rule.step(wide, widened(gradient, Scratch::kGradient), schedule, scratch, sample);
    if (!wide.is_same(weight)) weight.copy_(wide);
  } catch (const Error& error) {
    throw Error(rule.route().name, std::string(error.what()) +
                                       "; other weights have changed in this step: go back to the "
                                       "last checkpoint");
  }
}

void Optimizer::update(const std::vector<const at::Tensor*>& gradients, double schedule,
                       const std::vector<OrthogonalizationSample*>& samples) {
  // A GPU has its own threads.
  const bool here = std::all_of(weights_.begin(), weights_.end(),
                                [](const at::Tensor& weight) { return weight.is_cpu(); });
  const int threads = here && !at::in_parallel_region() ? at::get_num_threads() : 1;
  if (static_cast<int>(scratch_.size()) != threads) {
    scratch_.resize(threads);
    std::vector<double> costs;
    for (const auto& rule : rules_) costs.push_back(rule->cost());
    distribution_ = distribute(costs, threads);
  }
  const auto run = [&](size_t i, Scratch& scratch) {
    update(i, *gradients[i], schedule, scratch, samples.empty() ? nullptr : samples[i]);
  };
  scratch_[0].orthogonalization_seconds = 0;
  for (const size_t i : distribution_.alone) run(i, scratch_[0]);
  orthogonalization_seconds_ = scratch_[0].orthogonalization_seconds;
  if (distribution_.by_thread.empty()) return;

  std::vector<double> busy(threads, 0);
  for (Scratch& scratch : scratch_) scratch.orthogonalization_seconds = 0;
  Stopwatch side_by_side;
  at::parallel_for(0, threads, 1, [&](int64_t thread, int64_t end) {
    for (; thread < end; ++thread) {
      Stopwatch watch;
      for (const size_t i : distribution_.by_thread[thread]) run(i, scratch_[thread]);
      busy[thread] = watch.lap();
    }
  });
  const double wall = side_by_side.lap();
  double all = 0, orthogonalization = 0;
  for (int thread = 0; thread < threads; ++thread) {
    all += busy[thread];
    orthogonalization += scratch_[thread].orthogonalization_seconds;
  }
  if (all > 0) orthogonalization_seconds_ += wall * orthogonalization / all;
}

void Optimizer::step(const NamedTensors& gradients, double schedule) {
  update(in_order(gradients), schedule, {});
}

std::vector<UpdateRow> Optimizer::measured_step(const NamedTensors& gradients, double schedule,
                                                double& seconds) {
  std::vector<at::Tensor> before;
  for (const at::Tensor& weight : weights_) before.push_back(weight.clone());
  std::vector<OrthogonalizationSample> samples(rules_.size());
  std::vector<OrthogonalizationSample*> wanted;  // of the first tensor of each kind
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<const UpdateRule*> rules;
  for (size_t i = 0; i < rules_.size(); ++i) {
    const Route& route = rules_[i]->route();
    const bool first = seen.emplace(tensor_kind(route.name), route.rule).second;
    wanted.push_back(first ? &samples[i] : nullptr);
    rules.push_back(rules_[i].get());
  }
  Stopwatch watch;
  update(in_order(gradients), schedule, wanted);
  seconds = watch.lap();
  return update_rows(rules, before, weights_, samples);
}

void Optimizer::add_spectra(std::vector<UpdateRow>& rows) const {
  std::vector<const UpdateRule*> rules;
  std::vector<at::Tensor> momenta;
  for (const auto& rule : rules_) {
    rules.push_back(rule.get());
    at::Tensor& momentum = momenta.emplace_back();
    const Route& route = rule->route();
    for (const Buffer& kept : buffers(config_, route)) {
      if (kept.meaning == Buffer::Meaning::kMeanGradient) momentum = rule->state().at(kept.name);
    }
  }
  draftlab::add_spectra(rules, weights_, momenta, rows);
}

NamedTensors Optimizer::state() const {
  NamedTensors all;
  for (const auto& rule : rules_) {
    for (const auto& [buffer, tensor] : rule->state())
      all[rule->route().name + "/" + buffer] = tensor;
  }
  return all;
}

void Optimizer::load_state(const NamedTensors& saved) {
  NamedTensors own = state();
  for (const auto& [name, tensor] : saved) {
    if (!own.contains(name))
      throw Error(name, "is no state of this optimizer; it was saved by another one");
  }
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (const auto& [name, tensor] : own) {
    const auto found = saved.find(name);
    if (found == saved.end()) throw Error(name, "is missing in the saved optimizer state");
    if (found->second.sizes() != tensor.sizes() ||
        found->second.scalar_type() != tensor.scalar_type()) {
      throw Error(name, "has another shape or dtype in the saved optimizer state: " +
                            shape_text(found->second.sizes()) + " instead of " +
                            shape_text(tensor.sizes()) + ", " +
                            toString(found->second.scalar_type()) + " instead of " +
                            toString(tensor.scalar_type()));
    }
    copies.emplace_back(tensor, found->second);
  }
  for (auto& [to, from] : copies) to.copy_(from);
}

}  // namespace draftlab
