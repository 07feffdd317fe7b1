#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace draftlab {

// Weights, gradients or optimizer state, by name; iteration is in name order, which is also the
// order of hashes and files.
using NamedTensors = std::map<std::string, at::Tensor>;

}  // namespace draftlab
