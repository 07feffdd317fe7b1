#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "kernels/named_tensors.h"
#include "optim/optimizer.h"
#include "record/optimizer_kind.h"

namespace draftlab {

// For tests: configurations that stand for every kind, convention, orthogonalizer and variant, and
// a small drafter to try them on.

inline OptimizerConfig config_of(const std::string& text) {
  return parse_optimizer_config(parse_json(text, "test"), "test: optimizer");
}

inline const std::vector<std::string>& every_configuration() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> texts;
    for (const OptimizerKind& kind : optimizer_kinds()) {
      std::vector<std::string> conventions;
      for (const OptimizerOption& option : kind.options)
        if (option.key == "convention") conventions = option.choices;
      const std::string name = R"({"kind": ")" + kind.name + "\"";
      if (conventions.empty()) texts.push_back(name + "}");
      for (const std::string& convention : conventions)
        texts.push_back(name + R"(, "convention": ")" + convention + "\"}");
      for (const OptimizerOption& option : kind.options) {
        if (option.key == "decay" || option.key == "orthogonalizer") {
          for (const std::string& choice : option.choices)
            texts.push_back(name + ", \"" + option.key + "\": \"" + choice + "\"}");
        }
        if (option.key == "cautious") texts.push_back(name + R"(, "cautious": true})");
        if (option.key == "shadow_beta2") texts.push_back(name + R"(, "shadow_beta2": 0.95})");
        if (option.key == "hyperball") {
          texts.push_back(name + R"(, "hyperball": true})");
          for (const std::string& convention : conventions)
            texts.push_back(name + R"(, "hyperball": true, "convention": ")" + convention + "\"}");
        }
        if (option.key == "nesterov") texts.push_back(name + R"(, "nesterov": false})");
      }
    }
    texts.push_back(R"({"kind": "muon", "epsilon": "published", "cautious": true})");
    texts.push_back(
        R"({"kind": "adamw", "cautious": true, "decay": "cautious", "weight_decay": 0.3})");
    texts.push_back(
        R"({"kind": "lion", "cautious": true, "decay": "cautious", "weight_decay": 0.3})");
    texts.push_back(R"({"kind": "normuon", "scale": "rms", "convention": "dion"})");
    return texts;
  }();
  return all;
}

// "muon_convention_moonlight": a name that gtest takes.
inline std::string configuration_name(std::string text) {
  std::string name;
  for (const char c : text.substr(9))
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ' ')
      name += c == ' ' ? '_' : c;
  return name;
}

// Square, tall and wide matrices, one split into unequal blocks, one into heads, and a vector.
inline const std::vector<ParameterShape>& small_drafter() {
  static const std::vector<ParameterShape> shapes = {
      {"fc.weight", {6, 4}},
      {"layers.0.self_attn.q_proj.weight", {12, 8}, 4},
      {"layers.0.square.weight", {5, 5}},
      {"layers.1.qkv.weight", {8, 6}},
      {"layers.1.up.weight", {5, 9}},
      {"norm.weight", {6}}};
  return shapes;
}

inline std::vector<Route> small_table(const OptimizerConfig& config) {
  RoutingRule qkv{"*.qkv.weight", 0, 0, "matrix", {4, 2, 2}};
  RoutingRule heads{"*.q_proj.weight", 0, 0, "matrix"};
  heads.split_heads = true;
  return route(small_drafter(), config, {qkv, heads}, "routing");
}

inline NamedTensors random_tensors(uint64_t seed, at::ScalarType dtype = at::kDouble) {
  at::manual_seed(seed);
  NamedTensors tensors;
  for (const ParameterShape& p : small_drafter())
    tensors[p.name] = at::randn(p.shape, at::kDouble).to(dtype);
  return tensors;
}

inline NamedTensors copy_of(const NamedTensors& tensors) {
  NamedTensors copies;
  for (const auto& [name, tensor] : tensors) copies[name] = tensor.clone();
  return copies;
}

inline bool same_bits(const NamedTensors& a, const NamedTensors& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && at::equal(x.second, y.second);
         });
}

inline double relative_distance(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace draftlab
