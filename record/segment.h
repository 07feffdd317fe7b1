#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/drafter_config.h"
#include "record/loss_config.h"
#include "record/optimizer_config.h"
#include "record/routing.h"

namespace draftlab {

struct TrainingConfig {
  int64_t steps = 0;  // optimizer steps of the whole run; the schedule ends here
  int64_t sequences_per_step = 4;
  int64_t anchors = 16;             // most anchors (blocks) per sequence and visit
  std::string schedule = "cosine";  // after warm-up: "cosine" to 0, or "constant"
  double warmup = 0.04;             // share of `steps`
  double clip = 1.0;                // largest global gradient norm; 0: no clipping
  double gamma = 0;                 // decay of the slot weights exp(-(k-1)/gamma); 0: none
  LossConfig loss;                  // what is made small; held-out measures do not depend on it
  std::string labels =
      "data";  // "data": the sequence's tokens; "argmax": the target's greedy choice
  std::string device = "cpu";  // or "cuda"
  int64_t threads = 1;         // of one worker; part of the identity, since it can change rounding
};

struct EvaluationConfig {
  std::vector<int64_t> steps;  // rising; always holds 0 and TrainingConfig::steps
  int64_t stride = 4;          // an evaluation block starts at every stride-th eligible position
};

// How many sequences of the store do what, and what is dealt out as a whole (record/split.h):
// "sequence", each by itself; "group", those whose prompts have one group in the prompt file; or
// "similarity", those whose prompts are near copies, or near copies of near copies, and so on.
struct SplitConfig {
  int64_t train = 0;
  int64_t tuning = 0;    // rates are chosen on these; 0: none
  int64_t held_out = 0;  // and the numbers that count come from these
  std::string by = "sequence";
};

// Separate streams, so that arms with equal seeds see the same data from the same weights.
struct Seeds {
  int64_t weights = 0, data = 0, noise = 0;  // initial weights; batch order; anchors
  bool operator==(const Seeds&) const = default;
};

// How a segment takes over from its parent. Without a parent all of it stays as it is here.
struct StartConfig {
  // What becomes of the parent's optimizer state: "transfer" carries to another optimizer what
  // means the same there (optim/state_transfer.h), "reset" starts from zeros.
  std::string state = "transfer";
  int64_t rewarmup = 0;       // steps in which the rate rises from 0 to the schedule's
  int64_t schedule_from = 0;  // step at which the schedule begins: 0, or a restart
};

// Training from one checkpoint (or from nothing) to a later step under one resolved configuration.
struct SegmentConfig {
  DrafterConfig drafter;
  TrainingConfig training;
  EvaluationConfig evaluation;
  SplitConfig split;
  OptimizerConfig optimizer;
  std::vector<Route> routing;
  Seeds seeds;
  std::string store;   // the store's identity: hash of its manifest
  std::string parent;  // id of the segment whose last checkpoint this one starts from; "": none
  StartConfig start;
  int64_t from_step = 0;  // 0, or the parent's to_step
  int64_t to_step = 0;
};

// Sequences that training has visited after so many steps, each visit counted, and how many times
// that is each sequence of the training split (which may be no whole number).
double sequences_after(const SegmentConfig& config, double steps);
double epochs_after(const SegmentConfig& config, double steps);

// Everything that can change a segment's result, and nothing else; its canonical text is hashed.
JsonObject to_json(const SegmentConfig& config);
SegmentConfig segment_from_json(const Json& value, const std::string& where);
// First 16 hex digits of the SHA-256 of the canonical JSON.
std::string segment_id(const SegmentConfig& config);

// Reads the sections "training", "evaluation", "split" of a sweep file; unknown keys are errors.
TrainingConfig parse_training(const Json& value, const std::string& where);
EvaluationConfig parse_evaluation(const Json& value, const std::string& where, int64_t steps);
SplitConfig parse_split(const Json& value, const std::string& where);
JsonObject to_json(const SplitConfig& config);

// segment.json: what one worker is told. Paths and habits that do not change the result stay
// outside of the id.
struct SegmentTask {
  std::string id;
  SegmentConfig config;
  std::filesystem::path store_folder;
  int64_t checkpoint_every = 100;  // steps between checkpoints, besides the last step
};
void write_task(const std::filesystem::path& file, const SegmentTask& task);
SegmentTask read_task(
    const std::filesystem::path& file);  // throws Error if the id does not fit the config

}  // namespace draftlab
