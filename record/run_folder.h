#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace draftlab {

// Throws Error for a file that another version of draftlab wrote.
void require_schema(int64_t schema, int64_t ours, const std::string& where);

// Every path of a result folder is made and parsed here (docs/run_folder.md), but for the names of
// a report's files, which reports/page/report.cc lists.
class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path root) : root_(std::move(root)) {}
  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path plan() const { return root_ / "plan.json"; }
  // What later phases of the plan add, from number 2 on.
  std::filesystem::path phase(int64_t number) const {
    return root_ / ("phase_" + std::to_string(number) + ".json");
  }
  std::filesystem::path lock() const { return root_ / "lock"; }
  std::filesystem::path events() const {
    return root_ / "events.jsonl";
  }                                                                // starts and ends of workers
  std::filesystem::path store() const { return root_ / "store"; }  // unless another folder is given
  std::filesystem::path segments() const { return root_ / "segments"; }
  std::filesystem::path runs() const { return root_ / "runs"; }  // links by name to segments
  std::filesystem::path report() const { return root_ / "report"; }
  std::filesystem::path report_page() const { return report() / "index.html"; }

 private:
  std::filesystem::path root_;
};

// The folder of one segment; it moves as a whole.
class SegmentFolder {
 public:
  SegmentFolder(const RunFolder& run, const std::string& id) : root_(run.segments() / id) {}
  explicit SegmentFolder(std::filesystem::path root) : root_(std::move(root)) {}
  const std::filesystem::path& root() const { return root_; }
  std::string id() const { return root_.filename(); }  // of the segment
  std::filesystem::path task() const { return root_ / "segment.json"; }
  std::filesystem::path metrics() const { return root_ / "metrics.jsonl"; }
  std::filesystem::path outcome() const {
    return root_ / "outcome.json";
  }  // written last, read first
  std::filesystem::path progress() const {
    return root_ / "progress.json";
  }  // step, rate: for the runner's eyes
  std::filesystem::path log() const { return root_ / "log.txt"; }  // the worker's stdout and stderr
  std::filesystem::path lock() const { return root_ / "lock"; }    // held by its worker
  // What became of the parent's optimizer state, where another optimizer took over.
  std::filesystem::path transfer() const { return root_ / "transfer.json"; }
  // How long its steps take alone; only where its runs were not (record/timing.h).
  std::filesystem::path timing() const { return root_ / "timing.json"; }
  // How speculative decoding with its drafter went (record/decoding.h).
  std::filesystem::path decoding() const { return root_ / "decoding.json"; }
  std::filesystem::path baselines() const { return root_ / "baselines.json"; }
  std::filesystem::path origin() const { return root_ / "origin.json"; }  // of a taken segment
  std::filesystem::path provenance() const { return root_ / "provenance.json"; }
  std::filesystem::path checkpoints() const { return root_ / "checkpoints"; }
  // checkpoints/step_000000120.safetensors
  std::filesystem::path checkpoint(int64_t step) const;
  // The step in a checkpoint's file name; nothing for any other name (".tmp" included).
  static std::optional<int64_t> checkpoint_step(const std::filesystem::path& file);
  // Of all checkpoints, whole or not, the last one first.
  std::vector<int64_t> checkpoint_steps() const;
  // The last one; nothing if there is none.
  std::optional<int64_t> last_checkpoint() const;

 private:
  std::filesystem::path root_;
};

}  // namespace draftlab
