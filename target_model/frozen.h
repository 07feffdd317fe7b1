#pragma once

#include <ATen/core/Tensor.h>

#include "store/manifest.h"

namespace draftlab {

// The target's embedding and output head, which every drafter borrows and never trains.
struct FrozenTensors {
  at::Tensor embedding;  // [V, H] float32
  at::Tensor head;  // [V, H] float32; the same storage as `embedding` where the target ties them
};

// Loads both from the target that a store was made with. Throws Error if the file is gone or its
// SHA-256 is another. Hashing happens once per process.
FrozenTensors load_frozen(const StoreManifest& manifest);

}  // namespace draftlab
