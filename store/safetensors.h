#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace draftlab {

// safetensors: 8-byte little-endian header length, JSON header {name: {dtype, shape,
// data_offsets}}, optional "__metadata__", then the bytes. Strict: offsets without overlap or gaps
// from the first byte to the last, sizes that fit shape and dtype, no duplicate names, no unknown
// keys.

// Where a tensor lies; begin and end count from the start of the file.
struct SafetensorsSpan {
  std::string dtype;
  std::vector<int64_t> shape;
  size_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsSpan> tensors;
  std::map<std::string, std::string> metadata;
  size_t file_size = 0;  // what the whole file must have
};

// Reads and checks the header alone: `bytes` may be cut off behind it. Throws Error naming `where`.
SafetensorsHeader read_safetensors_header(std::string_view bytes, const std::string& where);

struct SafetensorsEntry {
  std::string dtype;  // "F32", "BF16", "F16", "F64", "I32", "I64", "U8", "BOOL", ...
  std::vector<int64_t> shape;
  std::string_view bytes;  // into the file or the caller's memory
};

// A mapped safetensors file. Throws Error naming the file and the tensor.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& file);
  const std::filesystem::path& file() const { return path_; }
  std::string_view all_bytes() const { return map_.bytes(); }
  const std::map<std::string, SafetensorsEntry>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const SafetensorsEntry& tensor(const std::string& name) const;  // throws Error if it is not there

 private:
  std::filesystem::path path_;
  MappedFile map_;
  std::map<std::string, SafetensorsEntry> tensors_;
  std::map<std::string, std::string> metadata_;
};

// The bytes of a file with these tensors. The data start at a multiple of 64; tensors of larger
// elements come first, then by name, so that each is aligned to its element. Deterministic.
std::string safetensors_bytes(const std::map<std::string, SafetensorsEntry>& tensors,
                              const std::map<std::string, std::string>& metadata);

// 4 for "F32" and so on. Throws Error for an unknown dtype, naming `where`.
int64_t safetensors_element_size(const std::string& dtype, const std::string& where);

}  // namespace draftlab
