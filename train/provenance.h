#pragma once

#include <filesystem>

#include "record/segment.h"

namespace draftlab {

// Writes where and with what a segment is computed: build, libtorch, CPU or GPU, threads. A flat
// JSON object of strings and numbers; no host name.
void write_provenance(const std::filesystem::path& file, const TrainingConfig& training);

}  // namespace draftlab
