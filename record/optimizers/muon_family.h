#pragma once

#include <string>
#include <vector>

#include "record/optimizers/options.h"
#include "record/orthogonalizer.h"

namespace draftlab::optimizers {

// What the kinds that orthogonalize a momentum share.
struct MuonFamily {
  std::vector<std::string> conventions;  // the first is the default
  std::string orthogonalizer = "kj5";
  std::vector<std::string> orthogonalizers = {};  // empty: all
  std::vector<std::string> scales = {"original", "match_rms", "spectral"};
  std::string scale_meaning =
      "factor on the rate for an m x n matrix: sqrt(max(1, m/n)), 0.2 sqrt(max(m, n)), sqrt(m/n)";
  std::vector<std::string> decays = {"decoupled", "cautious"};
  Options own = {};
};
Options muon_options(const MuonFamily& family);

// Each orthogonalizer brings its own number of steps and safety.
Presets orthogonalizer_presets();
// The conventions of Muon and Turbo-Muon, which keeps its own orthogonalizer in dion's.
std::vector<std::string> muon_conventions();
Presets muon_presets(bool turbo);

// M, called "momentum" or "momentum_sum" after its form, and the shadow of "shadow_beta2".
std::vector<Buffer> muon_buffers(const OptimizerConfig& options, const Route& route);
// One orthogonalization of each block of a matrix.
UpdateWork orthogonalization_work(const OptimizerConfig& options, const Route& route);

}  // namespace draftlab::optimizers
