#include "store/file_hash.h"

#include <map>
#include <tuple>

#include "base/error.h"
#include "base/hash.h"

namespace draftlab {

const std::string& sha256_once(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  static std::map<std::tuple<fs::path, uintmax_t, fs::file_time_type>, std::string> known;
  std::error_code code;
  const fs::path path = fs::canonical(file, code);
  if (code) throw Error(file.string(), "cannot be read: " + code.message());
  const auto [entry, is_new] =
      known.try_emplace({path, fs::file_size(path), fs::last_write_time(path)});
  if (is_new) {
    try {
      entry->second = sha256_hex_of_file(path);
    } catch (...) {
      known.erase(entry);
      throw;
    }
  }
  return entry->second;
}

}  // namespace draftlab
