#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/drafter_config.h"
#include "record/schedule.h"
#include "reports/pipeline/pipeline_specification.h"

namespace draftlab {

// What a decision is about: a run in production that could change its optimizer (docs/decide.md).
struct DecisionContext {
  std::string name;
  std::string current, candidate;  // kinds of optimizer
  // How long a step with the candidate takes, over one with the current optimizer, where somebody
  // measured it at this scale.
  std::optional<PipelineInterval> step_ratio;

  int64_t target_layers = 0;
  DrafterConfig drafter;
  int64_t parameters = 0;  // of the drafter, from its shapes
  // Kinds of layer that the question is about besides those of the drafter.
  std::vector<std::string> layers_in_question;

  // Where the run stands; the steps of its warm-up are given, or what `rate` makes of them.
  SchedulePlace place;
  double epochs = 0;  // of all steps
  // Supervised labels; a range where nobody counted.
  PipelineInterval tokens_per_batch;
  double tokens_per_second = 0;    // trained on; 0: not given
  double peak_rate = 0, rate = 0;  // the learning rate's peak, and where it stands
  double first_loss = 0, loss = 0, acceptance_length = 0;

  // One optimizer, the current one: its batches to the target are those that are left.
  PipelineSpec pipeline;

  // Folders that a pillar takes its runs from, by its name; a pillar without any chooses one folder
  // itself, and none takes runs of several that are not named.
  std::map<std::string, std::vector<std::string>> evidence;
  const std::vector<std::string>& folders_of(const std::string& pillar) const;

  std::string reading;  // how the facts are read, where they can be read in several ways; or ""

  PipelineInterval tokens() const;  // of the whole training
};

// Strict; errors name `origin` and the key. Tokens a batch and tokens a second must fit the rate of
// the pipeline to 10 %.
DecisionContext parse_decision_context(const Json& json, const std::string& origin);
DecisionContext read_decision_context(const std::filesystem::path& file);
// The context and its other "readings", each the same but for what it says of the run.
std::vector<DecisionContext> parse_decision_readings(const Json& json, const std::string& origin);

}  // namespace draftlab
