#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace draftlab {

// How a segment ended. Done and Diverged are results; Failed and Interrupted are not, and run again
// on resume. The names are part of the format on disk.
enum class OutcomeKind { kDone, kDiverged, kFailed, kInterrupted };
std::string outcome_name(OutcomeKind kind);  // "done", "diverged", "failed", "interrupted"

struct Outcome {
  OutcomeKind kind = OutcomeKind::kFailed;
  int64_t step = 0;          // last step whose update was applied
  std::string reason;        // why it diverged or failed; empty when done
  std::string weights_hash;  // SHA-256 over all weights in name order; empty unless done
  double train_seconds =
      0;  // training steps only: data + model + optimizer, no evaluation, no checkpoint
  double data_seconds = 0, model_seconds = 0, optimizer_seconds = 0;
  int64_t peak_memory_bytes = 0;     // largest resident set of the worker
  std::string segment;               // the id of what ended
  std::string metrics_sha256;        // of metrics.jsonl, where it is complete: done or diverged
  std::vector<std::string> notices;  // what was mended on the way, such as a broken checkpoint
};

// With a hash of its own content.
void write_outcome(const std::filesystem::path& file, const Outcome& outcome);
// Nothing if the file is not there. Throws Error if it is broken, or another segment's than the one
// named (files of older versions name none).
std::optional<Outcome> read_outcome(const std::filesystem::path& file,
                                    const std::string& segment = "");

}  // namespace draftlab
