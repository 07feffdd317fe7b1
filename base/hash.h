#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace draftlab {

// SHA-256 (OpenSSL), as 64 lower-case hex digits.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(const void* bytes, size_t size);
  void add(std::string_view bytes) { add(bytes.data(), bytes.size()); }
  // Of all bytes so far; more may follow.
  std::string hex() const;

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::string_view bytes);
// The same sum in base 64, as content security policies want it.
std::string sha256_base64(std::string_view bytes);
std::string sha256_hex_of_file(const std::filesystem::path& file);

}  // namespace draftlab
