#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/study/study.h"

namespace draftlab {

// Writes OUT/RUN/events.out.tfevents.draftlab for every run that has started, each replaced as a
// whole; what else is in `out` stays. Scalars at their true steps: train/loss, train/learning_rate
// and train/gradient_norm of every step; held_out/ and tuning/ loss, acceptance_length and
// acceptance_length_argmax of every evaluation. The wall time of a point is the start of the run
// plus its training seconds so far, so that TensorBoard's relative time is training time; where
// nothing recorded the start it is 0. The same folders give the same bytes. Runs without a readable
// log are left out and returned by name. Throws Error if a file cannot be written.
std::vector<std::string> write_tensorboard(const Study& study, const std::filesystem::path& out);

// The folder of a run: its name where that is harmless as one (letters, digits, space and -_.,=+()
// up to 100 of them, no leading dot), else what is left of it with a hash of the whole.
std::string tensorboard_folder(const std::string& run);

}  // namespace draftlab
