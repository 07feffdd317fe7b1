#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace draftlab {

// What became of one piece of optimizer state when another optimizer took over.
struct TransferRow {
  std::string tensor;  // "fc.weight"
  std::string buffer;  // of the new optimizer, or of the old one where it was dropped
  std::string
      fate;  // "carried": the same bits; "converted": another size; "reset": zeros; "dropped"
  std::string how;  // "exp_avg / (1 - momentum)"
};

JsonArray to_json(const std::vector<TransferRow>& rows);
// Reads back what to_json() wrote; throws Error naming the key.
std::vector<TransferRow> transfer_from_json(const JsonArray& list, const std::string& where);

// transfer.json of a segment, as a whole; throws Error naming the file.
void write_transfer(const std::filesystem::path& file, const std::vector<TransferRow>& rows);
std::vector<TransferRow> read_transfer(const std::filesystem::path& file);

}  // namespace draftlab
