#pragma once

#include <filesystem>

#include "base/json.h"
#include "record/segment.h"

namespace draftlab {

// Writes where and with what a segment is computed: build, libtorch, CPU or GPU, threads. A flat
// JSON object of strings and numbers; no host name.
void write_provenance(const std::filesystem::path& file, const TrainingConfig& training);

// The part of it that decides how long a step takes: "vector_instructions", "device", "cpu",
// "cores", "threads".
JsonObject machine_facts(const TrainingConfig& training);

}  // namespace draftlab
