#include "reports/tables/event_file.h"

#include <bit>
#include <boost/crc.hpp>

namespace draftlab {
namespace {

template <typename Unsigned>
void add_little_endian(Unsigned value, std::string& out) {
  for (size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i));
}

void add_varint(uint64_t value, std::string& out) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

// Of Protocol Buffers; the kind is told beside the number of each field.
enum class Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void add_key(int field, Wire wire, std::string& out) {
  add_varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire), out);
}

void add_bytes(int field, std::string_view bytes, std::string& out) {
  add_key(field, Wire::kBytes, out);
  add_varint(bytes.size(), out);
  out += bytes;
}

void add_double(int field, double value, std::string& out) {
  add_key(field, Wire::kFixed64, out);
  add_little_endian(std::bit_cast<uint64_t>(value), out);
}

void add_float(int field, double value, std::string& out) {
  add_key(field, Wire::kFixed32, out);
  add_little_endian(std::bit_cast<uint32_t>(static_cast<float>(value)), out);
}

// message Event { double wall_time = 1; int64 step = 2; string file_version = 3;
//                 Summary summary = 5; }
// message Summary { repeated Value value = 1; }
// message Value { string tag = 1; float simple_value = 2; }
enum EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
enum SummaryField { kValue = 1 };
enum ValueField { kTag = 1, kSimpleValue = 2 };

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return std::rotr(static_cast<uint32_t>(crc.checksum()), 15) + 0xA282EAD8u;
}

std::string event_record(std::string_view bytes) {
  std::string length, record;
  add_little_endian(static_cast<uint64_t>(bytes.size()), length);
  record.reserve(bytes.size() + 16);
  record += length;
  add_little_endian(masked_crc32c(length), record);
  record += bytes;
  add_little_endian(masked_crc32c(bytes), record);
  return record;
}

std::string event_file_version(double wall_time) {
  std::string event;
  add_double(kWallTime, wall_time, event);
  add_bytes(kFileVersion, "brain.Event:2", event);
  return event_record(event);
}

std::string scalar_event(double wall_time, int64_t step,
                         const std::vector<std::pair<std::string_view, double>>& scalars) {
  std::string event, summary, value;
  for (const auto& [tag, scalar] : scalars) {
    value.clear();
    add_bytes(kTag, tag, value);
    add_float(kSimpleValue, scalar, value);
    add_bytes(kValue, value, summary);
  }
  add_double(kWallTime, wall_time, event);
  add_key(kStep, Wire::kVarint, event);
  add_varint(static_cast<uint64_t>(step), event);
  add_bytes(kSummary, summary, event);
  return event_record(event);
}

}  // namespace draftlab
