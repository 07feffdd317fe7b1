#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace draftlab {

// Where a finished segment was taken from that another result folder had trained: what that
// folder's events say of it, since those of this folder are silent.
struct Origin {
  std::string folder;         // absolute
  std::optional<bool> alone;  // no other worker ran beside it; nothing: not recorded
  int64_t workers = 1;        // that trained it, one after another
};

// origin.json of a segment; nothing where it was trained in its own folder. Throws Error naming the
// file.
void write_origin(const std::filesystem::path& file, const Origin& origin);
std::optional<Origin> read_origin(const std::filesystem::path& file);

}  // namespace draftlab
