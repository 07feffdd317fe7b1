#include "optim/telemetry.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace draftlab {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kQuantiles = 5;

// Ascending.
at::Tensor singular_values(const at::Tensor& x) {
  if (x.dim() == 1) return std::get<0>(x.abs().sort());
  const at::Tensor wide = x.size(0) > x.size(1) ? x.t() : x;
  return at::linalg_eigvalsh(wide.mm(wide.t())).clamp_min_(0).sqrt_();
}

double sum_of_squares(const at::Tensor& x) {
  const double norm =
      at::linalg_vector_norm(x, 2, std::nullopt, /*keepdim=*/false, at::kDouble).item<double>();
  return norm * norm;
}

struct Sums {
  double updates = 0, weights = 0, count = 0;
  const OrthogonalizationSample* sample = nullptr;
};

}  // namespace

OrthogonalizationQuality quality(const OrthogonalizationSample& sample) {
  if (!sample.x.defined()) return {kUndefined, kUndefined};
  // Roots of eigenvalues hold half the digits of float64, which is what float32 had.
  const double rounding =
      std::numeric_limits<float>::epsilon() * static_cast<double>(sample.x.sizes().back());
  const at::Tensor x = sample.x.to(at::kCPU, at::kDouble), o = sample.o.to(at::kCPU);
  const at::Tensor of_x = singular_values(x);
  const double largest = of_x[-1].item<double>();
  if (!(largest > 0)) return {kUndefined, kUndefined};
  const int64_t rank = (of_x > rounding * largest).sum().item<int64_t>();
  const at::Tensor of_o = singular_values(o);
  const at::Tensor live = of_o.narrow(0, of_o.size(0) - rank, rank);
  return {(o * x).sum().item<double>() / of_x.sum().item<double>(),
          (live - 1).abs().max().item<double>()};
}

Spectrum spectrum(const at::Tensor& x) {
  const at::Tensor wide = x.to(at::kCPU, at::kDouble);
  // No decomposition ends well with a NaN in it.
  if (!std::isfinite(sum_of_squares(wide)))
    return {std::vector<double>(kQuantiles, kUndefined), kUndefined};
  const at::Tensor values = singular_values(wide).contiguous();
  const double* sigma = values.const_data_ptr<double>();
  const int64_t last = values.size(0) - 1;
  Spectrum found{{}, kUndefined};
  for (int64_t i = 0; i < kQuantiles; ++i) {
    const double place = static_cast<double>(i * last) / (kQuantiles - 1);
    const auto below = static_cast<int64_t>(place);
    const double share = place - static_cast<double>(below);
    found.quantiles.push_back((1 - share) * sigma[below] +
                              share * sigma[std::min(below + 1, last)]);
  }
  if (sigma[last] > 0) found.stable_rank = sum_of_squares(values / sigma[last]);
  return found;
}

void add_spectra(const std::vector<const UpdateRule*>& rules,
                 const std::vector<at::Tensor>& weights, const std::vector<at::Tensor>& momenta,
                 std::vector<UpdateRow>& rows) {
  at::parallel_for(0, static_cast<int64_t>(rows.size()), 1, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      UpdateRow& row = rows[i];
      const auto rule = std::ranges::find_if(rules, [&](const UpdateRule* each) {
        return tensor_kind(each->route().name) == row.kind && each->route().rule == row.rule;
      });
      if (rule == rules.end()) continue;
      const size_t place = rule - rules.begin();
      if (weights[place].dim() != 2) continue;
      Spectrum of_weights = spectrum(weights[place]);
      row.weight_spectrum = std::move(of_weights.quantiles);
      row.weight_stable_rank = of_weights.stable_rank;
      if (!momenta[place].defined()) continue;
      Spectrum of_momentum = spectrum(momenta[place]);
      row.momentum_spectrum = std::move(of_momentum.quantiles);
      row.momentum_stable_rank = of_momentum.stable_rank;
    }
  });
}

std::vector<UpdateRow> update_rows(const std::vector<const UpdateRule*>& rules,
                                   const std::vector<at::Tensor>& before,
                                   const std::vector<at::Tensor>& after,
                                   const std::vector<OrthogonalizationSample>& samples) {
  std::map<std::pair<std::string, std::string>, Sums> kinds;
  for (size_t i = 0; i < rules.size(); ++i) {
    const Route& route = rules[i]->route();
    Sums& sums = kinds[{tensor_kind(route.name), route.rule}];
    const at::Tensor old = before[i].to(rules[i]->like().scalar_type());
    sums.updates += sum_of_squares(after[i] - old);
    sums.weights += sum_of_squares(old);
    sums.count += static_cast<double>(old.numel());
    if (sums.sample == nullptr) sums.sample = &samples[i];
  }
  std::vector<UpdateRow> rows;
  std::vector<const OrthogonalizationSample*> sampled;
  for (const auto& [key, sums] : kinds) {
    UpdateRow& row = rows.emplace_back();
    std::tie(row.kind, row.rule) = key;
    row.update_rms = std::sqrt(sums.updates / sums.count);
    row.weight_rms = std::sqrt(sums.weights / sums.count);
    sampled.push_back(sums.sample);
  }
  at::parallel_for(0, static_cast<int64_t>(rows.size()), 1, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const OrthogonalizationQuality measured = quality(*sampled[i]);
      rows[i].alignment = measured.alignment;
      rows[i].deviation = measured.deviation;
    }
  });
  return rows;
}

}  // namespace draftlab
