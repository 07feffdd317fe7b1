#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace draftlab {

// One optimizer step. Step 1 is the first update; all numbers are of that step alone unless they
// say so.
struct StepRow {
  int64_t step = 0;
  int64_t tokens = 0;        // supervised label tokens so far, this step included
  double loss = 0;           // of the batch, before the update, in nats per weighted label
  double learning_rate = 0;  // base rate times the schedule
  double gradient_norm = 0;  // global, before clipping
  bool clipped = false;
  double data_seconds = 0, model_seconds = 0, optimizer_seconds = 0;
};

// One evaluation of one split, off the clock. All counts and means are pooled over blocks unless
// they say so. A block is one anchor position; its slots 1..B-1 are compared with the labels.
struct EvaluationRow {
  int64_t step = 0;
  std::string split;         // "held_out" or "tuning"
  int64_t tokens = 0;        // trained so far, as in StepRow
  double train_seconds = 0;  // so far: data + model + optimizer
  double loss = 0;           // slot-weighted cross entropy against the training labels, nats
  int64_t blocks = 0;        // evaluated blocks: all B-1 labels supervised
  int64_t prompts = 0;       // sequences with at least one block
  std::vector<double>
      slot_accuracy;  // [B-1] share of blocks whose slot k alone is right (data labels)
  std::vector<double>
      prefix_share;  // [B-1] share of blocks whose slots 1..k are all right (data labels)
  double acceptance_length = 0;  // 1 + mean leading matches against the data's tokens
  double acceptance_length_argmax =
      0;  // 1 + mean leading matches against the target's greedy tokens
  double acceptance_length_per_prompt = 0;  // mean over prompts of their own mean (data labels)
};

// metrics.jsonl: one JSON object per line, {"row":"step",...} or {"row":"evaluation",...}. Rows of
// one segment are in step order; every row appears once, also after kills and resumes.
struct Metrics {
  std::vector<StepRow> steps;
  std::vector<EvaluationRow> evaluations;
};

// Throws Error naming file and line. A torn last line (a kill in the middle of a write) is ignored.
Metrics read_metrics(const std::filesystem::path& file);

// Appends rows; `flush` makes them last. Opening an old log for a resume keeps the rows of steps up
// to `keep_step` (evaluation rows of `keep_step` included) and drops the rest.
class MetricsLog {
 public:
  MetricsLog(std::filesystem::path file, int64_t keep_step);
  ~MetricsLog();
  void add(const StepRow& row);
  void add(const EvaluationRow& row);
  void flush();

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
  std::string buffer_;
};

// Acceptance of the bigram chain, on the same blocks as the evaluation (baselines.json).
struct Baselines {
  double bigram_acceptance_length = 0;         // data labels
  double bigram_acceptance_length_argmax = 0;  // the target's greedy tokens
  int64_t blocks = 0, prompts = 0;
};
void write_baselines(const std::filesystem::path& file, const Baselines& baselines);
Baselines read_baselines(const std::filesystem::path& file);

}  // namespace draftlab
