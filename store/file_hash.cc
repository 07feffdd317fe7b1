#include "store/file_hash.h"

#include <chrono>
#include <map>

#include "base/hash.h"
#include "store/file_state.h"

namespace draftlab {

std::string sha256_once(const std::filesystem::path& file) {
  static std::map<FileState, std::string> known;
  const FileState state = file_state(file);
  if (const auto found = known.find(state); found != known.end()) return found->second;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string hash = sha256_hex_of_file(file);
  const int64_t age = std::chrono::nanoseconds(now).count() - state.changed;
  if (age > 1'000'000'000 && file_state(file) == state) known.emplace(state, hash);
  return hash;
}

}  // namespace draftlab
