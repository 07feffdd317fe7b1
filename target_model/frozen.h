#pragma once

#include <ATen/core/Tensor.h>

#include "store/manifest.h"
#include "target_model/checkpoint.h"

namespace draftlab {

// The target's embedding and output head, which every drafter borrows and never trains.
struct FrozenTensors {
  at::Tensor embedding;  // [V, H] float32
  at::Tensor head;  // [V, H] float32; the same storage as `embedding` where the target ties them
};

// Where a store's manifest says that its target lies.
TargetSource target_source_of(const StoreManifest& manifest);

// The target that a store was made with. Throws Error if the file is gone or its SHA-256 is
// another. Hashing happens once per process.
TargetCheckpoint open_target_of(const StoreManifest& manifest);

// Both of it. Throws Error as above.
FrozenTensors load_frozen(const StoreManifest& manifest);

}  // namespace draftlab
