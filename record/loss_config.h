#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace draftlab {

// One option of a loss, such as dpace's "alpha".
struct LossOption {
  std::string key;
  Json fallback;
  double low = 0, high = 0;          // numbers must lie in [low, high]
  std::vector<std::string> choices;  // texts must be one of these
  std::string meaning;               // one sentence
};

// What planning and reporting must know of a loss; its mathematics is in model/losses.
struct LossKind {
  std::string name;     // "ce", "kl", "dpace", ...
  std::string summary;  // one sentence
  std::string source;   // project or paper that it comes from
  std::string formula;  // of one slot: p the target's distribution, q the drafter's, y the label
  // It compares with the target's own distribution, so the store has to keep the target's final
  // hidden states.
  bool needs_target = false;
  // It weighs the slots itself, in place of training.gamma, so it is no part of a mixture.
  bool weighs_slots = false;
  std::string normalize = "weights";  // the default, as in LossConfig
  std::vector<LossOption> options = {};
};

// All losses; the first is the default one.
const std::vector<LossKind>& loss_kinds();
const LossKind& loss_kind(const std::string& name, const std::string& where);  // throws Error

struct LossTerm {
  std::string kind;
  double weight = 1;
  bool operator==(const LossTerm&) const = default;
};

std::vector<LossTerm> cross_entropy_alone();  // the default

// What a drafter is trained to make small: sum(m w l) / normalizer over all slots of a batch, where
// l is the weighted sum of the terms, m marks supervised slots and w is exp(-(k-1)/gamma), or what
// a loss that weighs the slots makes of it.
struct LossConfig {
  // In the order of loss_kinds(), each kind once. Made by a function: a list in braces here makes
  // GCC 12 fail where a test walks the fields.
  std::vector<LossTerm> terms = cross_entropy_alone();
  // The normalizer: "weights" sum(m w) (SpecForge's "dflash"), "labels" sum(m) + 1e-5
  // (speculators), "sequences" the number of sequences (SpecForge's "dpace").
  std::string normalize = "weights";
  JsonObject options;  // every option of the kind, where it is one kind alone

  bool needs_target() const;
  bool operator==(const LossConfig&) const = default;
};

// Reads NAME, {"kind": NAME, OPTION: value, ...} or {NAME: WEIGHT, ..., "normalize": ...}
// (docs/sweep_file.md). Throws Error with the key's path.
LossConfig parse_loss(const Json& value, const std::string& where);
// Every option resolved; parse_loss reads it back.
JsonObject to_json(const LossConfig& config);
// For people: "ce", "dpace alpha=0.5 variant=dpace normalize=labels", "0.5 kl + 0.5 ce".
std::string loss_text(const LossConfig& config);

}  // namespace draftlab
