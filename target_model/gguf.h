#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file.h"

namespace draftlab {

struct GgufTensor {
  std::string type;            // "F32", "F16", "BF16", "Q8_0", "Q4_1", or another type's name
  std::vector<int64_t> shape;  // row-major: the file's dimensions reversed, [out, in] for a matrix
  std::string_view bytes;      // into the mapped file
  int64_t count() const;
};

// A mapped GGUF file, version 3, little-endian
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). All offsets are checked against the
// file's size. Throws Error naming the file and the key or tensor.
class GgufFile {
 public:
  explicit GgufFile(const std::filesystem::path& file);
  const std::filesystem::path& file() const { return path_; }

  // Metadata. The getters throw Error if the key is missing (and no fallback given) or of another
  // type.
  bool has(const std::string& key) const { return metadata_.contains(key); }
  std::string text(const std::string& key) const;
  int64_t integer(const std::string& key) const;
  int64_t integer(const std::string& key, int64_t fallback) const;
  double number(const std::string& key) const;
  double number(const std::string& key, double fallback) const;
  const std::vector<std::string>& texts(const std::string& key) const;
  const std::vector<int64_t>& integers(const std::string& key) const;

  const std::map<std::string, GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor& tensor(const std::string& name) const;

 private:
  using Value = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>,
                             std::vector<double>, std::vector<std::string>>;
  class Cursor;
  static Value read_value(Cursor& cursor, uint32_t type);
  template <typename T>
  const T& get(const std::string& key, const char* wanted) const;

  std::filesystem::path path_;
  MappedFile map_;
  std::map<std::string, Value> metadata_;
  std::map<std::string, GgufTensor> tensors_;
};

// Writes count() floats, dequantised where needed: Q8_0 d*q per block of 32, Q4_1 d*q + m. Throws
// Error naming `where` and the type for any type but F32, F16, BF16, Q8_0, Q4_1.
void dequantise(const GgufTensor& tensor, const std::string& where, float* out);

}  // namespace draftlab
