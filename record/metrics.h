#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/append_log.h"
#include "base/json.h"

namespace draftlab {

// One optimizer step. Step 1 is the first update; all numbers are of that step alone unless they
// say so.
struct StepRow {
  int64_t step = 0;
  int64_t tokens = 0;        // supervised label tokens so far, this step included
  double loss = 0;           // the training loss of the batch, before the update; of the usual one
                             // in nats per weighted label. NaN: the batch had no label in the draft
                             // vocabulary, and the step updated nothing
  double learning_rate = 0;  // base rate times the schedule
  double gradient_norm = 0;  // global, before clipping; 0 without a label
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
  // What speculative sampling would accept, teacher-forced, where the store keeps the target's
  // final hidden states; else empty and NaN, and not written. a_k is the sum over the draft
  // vocabulary of min(p, q), p the target's probabilities of slot k and q the drafter's.
  std::vector<double> expected_acceptance = {};  // [B-1] mean over blocks of a_k
  double expected_acceptance_length =
      NAN;  // 1 + mean over blocks of a_1 + a_1 a_2 + a_1 a_2 a_3...
  // Share of blocks whose slot k alone has its data label among the drafter's 2, 4 and 8 most
  // likely tokens [B-1], and 1 + mean leading slots of which all have it among 8: what a tree of 8
  // tokens a slot, all their combinations, would be accepted with. Empty and NaN in folders of
  // older versions.
  std::vector<double> top_2_recall = {}, top_4_recall = {}, top_8_recall = {};
  double top_8_length = NAN;
  // Acceptance length of the likeliest tree of so many nodes in these lists (data labels), by
  // tree_budgets(): what one pass of the target over a tree would yield. Empty in older folders.
  std::vector<double> tree_lengths = {};
  // For each prompt its evaluated blocks and the sum of their leading matches (data labels), by
  // rising record: what an interval over prompts is made of. Only at the last step, else empty.
  std::vector<int64_t> prompt_blocks, prompt_matches;
  // 16 hex digits: every block and label trained on so far, in order. Equal for runs that saw the
  // same data; "" in folders of older versions.
  std::string data_hash;
};

// Nodes of the trees that an evaluation tries, rising: 8, 16, 32, 64.
const std::vector<int64_t>& tree_budgets();

// What the update of one evaluated step did to the weights of one kind of tensor, all layers
// together. X is what the rule orthogonalized and O what came out, of the kind's first matrix.
struct UpdateRow {
  int64_t step = 0;
  std::string kind;        // tensor_kind of the tensors, such as "self_attn.q_proj"
  std::string rule;        // as in Route
  double update_rms = 0;   // root mean square of W after minus W before the step
  double weight_rms = 0;   // of W before the step
  double alignment = NAN;  // tr(O^T X) / ||X||_*, 1 if exact; NaN: the rule orthogonalizes nothing
  double deviation = NAN;  // largest |sigma - 1| over the nonzero singular values of O; or NaN
  // Singular values of the kind's first matrix and of its mean gradient, both after the step that
  // ends training: the least, the quartiles and the largest [5], between two neighbours linearly,
  // and the stable rank, the sum of their squares over the largest square. Empty and NaN, and not
  // written, at other steps, for vectors, where a rule keeps no mean gradient, and in folders of
  // older versions. NaN also: a number in the matrix is not finite; a rank: the matrix is zero.
  std::vector<double> weight_spectrum = {}, momentum_spectrum = {};
  double weight_stable_rank = NAN, momentum_stable_rank = NAN;

  double ratio() const { return update_rms / weight_rms; }  // NaN: zeros that stayed zeros
};

// The tensor's name without its layer and ".weight": "self_attn.q_proj" for
// "layers.3.self_attn.q_proj.weight".
std::string tensor_kind(const std::string& tensor);

// metrics.jsonl: one JSON object per line, {"row":"step",...}, {"row":"update",...} or
// {"row":"evaluation",...}. Rows of one segment are in step order; every row appears once, also
// after kills and resumes. Folders of older versions have no update rows.
struct Metrics {
  std::vector<StepRow> steps;
  std::vector<UpdateRow> updates;
  std::vector<EvaluationRow> evaluations;
};

// Throws Error naming file and line. A torn last line (a kill in the middle of a write) is ignored.
// `sha256`: that of the whole file, as a finished segment's outcome has it; "" reads any. Throws
// Error where it is another: rows were lost, changed or added.
Metrics read_metrics(const std::filesystem::path& file, const std::string& sha256 = "");

// Appends rows; `flush` makes them last. Opening an old log for a resume keeps the first `keep`
// bytes, which its checkpoint knows, and drops the rest.
class MetricsLog {
 public:
  MetricsLog(std::filesystem::path file, int64_t keep, Disk& disk = real_disk());
  void add(const StepRow& row);
  void add(const UpdateRow& row);
  void add(const EvaluationRow& row);
  void flush();
  int64_t bytes() const { return log_.bytes(); }  // of what was flushed
  std::string sha256() const { return log_.sha256(); }

 private:
  AppendLog log_;
  std::string buffer_;
};

// Acceptance of what drafts without a drafter, the bigram chain and looking up what followed the
// last time, on the same blocks as the evaluation (baselines.json).
struct Baselines {
  double bigram_acceptance_length = 0;         // data labels
  double bigram_acceptance_length_argmax = 0;  // the target's greedy tokens
  // NaN in folders of older versions.
  double look_up_acceptance_length = NAN, look_up_acceptance_length_argmax = NAN;
  int64_t blocks = 0, prompts = 0;
  std::string initial_weights_hash;  // of the weights that the run starts from
  int64_t duplicates = -1;           // held-out sequences whose tokens are also those of a training
                                     // sequence; -1: not known
  // 1 for each evaluated held-out prompt with a near copy among the training prompts (by their
  // words, train/near_copies.h), else 0, in the order of EvaluationRow::prompt_blocks; empty: not
  // known.
  std::vector<int64_t> near_copies = {};
};
JsonObject to_json(const Baselines& baselines);
// Throws Error naming the key where the object is broken.
Baselines baselines_from_json(const Json& value, const std::string& where);
void write_baselines(const std::filesystem::path& file, const Baselines& baselines);
Baselines read_baselines(const std::filesystem::path& file);

}  // namespace draftlab
