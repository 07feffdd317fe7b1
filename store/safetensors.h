#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace draftlab {

// safetensors: 8-byte little-endian header length, JSON header {name: {dtype, shape, data_offsets}},
// optional "__metadata__", then the bytes. Strict: offsets in bounds, without overlap or gaps, sizes that
// fit shape and dtype, no duplicate names.
struct SafetensorsEntry {
  std::string dtype;             // "F32", "BF16", "F16", "F64", "I32", "I64", "U8", "BOOL", ...
  std::vector<int64_t> shape;
  std::string_view bytes;        // into the file or the caller's memory
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

// The bytes of a file with these tensors, in name order, data aligned to 64 bytes.
std::string safetensors_bytes(const std::map<std::string, SafetensorsEntry>& tensors,
                              const std::map<std::string, std::string>& metadata);

// 4 for "F32" and so on. Throws Error for an unknown dtype, naming `where`.
int64_t safetensors_element_size(const std::string& dtype, const std::string& where);

}  // namespace draftlab
