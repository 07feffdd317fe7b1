#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace draftlab {

// What a worker tells of itself while it runs; only for the runner's eyes, never a result.
struct Progress {
  int64_t step = 0, steps = 0;  // done, and to be done in the whole segment
  double steps_per_second = 0;  // of the last seconds, evaluation and checkpoints included
};

void write_progress(const std::filesystem::path& file, const Progress& progress);
// Nothing if there is none, or none that can be read: a progress display never fails a run.
std::optional<Progress> read_progress(const std::filesystem::path& file);

}  // namespace draftlab
