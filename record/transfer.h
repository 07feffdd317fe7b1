#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace draftlab {

// What became of one piece of optimizer state when another optimizer took over.
struct TransferRow {
  std::string tensor;  // "fc.weight"
  std::string buffer;  // of the new optimizer, or of the old one where it was dropped
  std::string
      fate;  // "carried": the same bits; "converted": another size; "reset": zeros; "dropped"
  std::string how;  // "exp_avg / (1 - momentum)"
};

// transfer.json of a segment, as a whole; throws Error naming the file.
void write_transfer(const std::filesystem::path& file, const std::vector<TransferRow>& rows);
std::vector<TransferRow> read_transfer(const std::filesystem::path& file);

}  // namespace draftlab
