#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace draftlab {

// TensorBoard's event files: records of one Event message each, in Protocol Buffers' wire format.

// One record: length, its checksum, the bytes, their checksum; numbers are little-endian.
std::string event_record(std::string_view bytes);

// The checksum: CRC-32C, rotated and shifted so that a checksum of checksums is not degenerate.
uint32_t masked_crc32c(std::string_view bytes);

// The record that every event file starts with.
std::string event_file_version(double wall_time);

// One record with the values of one step, each under its tag. `wall_time` is in seconds since 1970.
// Values become float32, as the format has it; a NaN stays one.
std::string scalar_event(double wall_time, int64_t step,
                         const std::vector<std::pair<std::string_view, double>>& scalars);

}  // namespace draftlab
