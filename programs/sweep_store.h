#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "runner/planner.h"
#include "runner/sweep.h"

namespace draftlab {

// The store of a sweep: built, or to be built from its specification.
struct SweepStore {
  PlannedStore planned;
  bool built = false;
  std::filesystem::path target;  // the model that it is, or will be, made with; empty: made up
  int64_t tokens =
      0;  // of prompts and responses; while it is not built: the most there can be, about

  double tokens_per_sequence() const;
  // Bytes on disk, and those of the final hidden states among them; `hidden_size` for a target that
  // is not known yet.
  double bytes(int64_t hidden_size) const;
  double final_hidden_bytes(int64_t hidden_size) const;
};

// Looks at the store that a sweep names; touches nothing. `chosen` is the user's --store; without
// it a specification's store lies in `usual`. Throws Error if the folder holds the store of another
// specification, or holds none where the sweep has no specification to build one from.
SweepStore find_store(const Sweep& sweep, const std::filesystem::path& usual,
                      const std::optional<std::string>& chosen = std::nullopt);

// What planning must know of a store that is there.
PlannedStore built_store(const std::filesystem::path& folder, Json specification);

}  // namespace draftlab
