#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "record/outcome.h"
#include "record/plan.h"
#include "record/run_folder.h"

namespace draftlab {

// For tests: a result folder with made-up numbers, made by the same writers as a real one.
struct SyntheticArm {
  std::string name, kind;
  std::vector<double> rates;
  std::vector<double> lengths;   // final acceptance length at each rate, mean of three seeds
  double optimizer_seconds = 0;  // of one step; the model takes 0.05 and the data 0.001
  JsonObject options = {};       // besides kind, rate and, but for AdamW, scale
};

struct SyntheticSweep {
  std::string name = "quick";
  std::vector<SyntheticArm> arms;
  int64_t seeds = 3;
  int64_t tuning = 0;       // sequences
  bool in_company = false;  // workers overlap, two by two
  int64_t steps = 200;
  std::vector<int64_t> evaluations = {0, 50, 100, 200};  // the steps of them
  bool updates = true;  // rows about updates, hashes, counts of prompts: older folders have none
  TargetLevel target = {"acceptance_length", 1.3};
  std::function<void(SegmentConfig&)> change = {};  // of what all segments have in common

  // AdamW, Muon, NorMuon and Turbo-Muon with numbers as in a real quick sweep.
  static SyntheticSweep of_four();
};

// How one run of a synthetic sweep ends; all others are done.
struct SyntheticEnd {
  std::string run;
  std::string kind;  // an outcome_name, "unfinished", "not started", "broken"
  std::string reason;
};

// What the folder holds for arm i (from 0) and seed s at evaluated step t of T: acceptance
// length 1 + (L - 1) sqrt(t / T) and loss 12 - 4 L sqrt(t / T), with L = length + 0.01 (s - 2)
// + 0.004 ((s + i) mod 3 - 1); training seconds t times those of one step; the tuning split has L -
// 0.005. The bigram chain reaches 1.18 (greedy tokens 1.21).
// The gradient norm of step t is 1 + 1/t, clipped up to step 50. One update is the learning rate
// times the weights; orthogonalizing rules have alignment 0.9 and deviation 0.3, for "fc" 0.8 and
// 0.4.
RunFolder write_synthetic_folder(const std::filesystem::path& root, const SyntheticSweep& sweep,
                                 const std::vector<SyntheticEnd>& ends = {});

// A folder of this process's own, in memory where the system has such a place: every file of a
// synthetic folder is synced, and on a disk that takes a minute for the tests of this room.
std::filesystem::path scratch_folder(const std::string& name);

// "muon lr=0.01 seed=1"
std::string synthetic_run(const std::string& arm, double rate, int64_t seed);

}  // namespace draftlab
