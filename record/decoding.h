#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/machine.h"

namespace draftlab {

// How a run's drafter is tried out: speculative decoding of the target beside plain decoding.
struct DecodingSettings {
  std::string file;        // of prompts; "": those of the held-out sequences
  int64_t prompts = 0;     // the first so many of them; 0: all
  int64_t tokens = 96;     // an answer ends here, or with the target's end-of-text token
  double temperature = 0;  // 0: greedy
  int64_t seed = 1;        // of the sampling
  int64_t batch = 1;       // prompts that go through the target together
  int64_t threads = 0;     // 0: as many as there are cores
  int64_t samples = 10;    // answers that are kept as text
  // What drafts: "drafter", the run's; "look_up", what followed the last time, as far as the run's
  // drafter looks, without a drafter (decode/look_up_proposer.h).
  std::string proposer = "drafter";
  // Nodes of the tree that the drafter drafts for each pass of the target, where decoding is
  // greedy; 0: a chain.
  int64_t tree = 0;
  bool operator==(const DecodingSettings&) const = default;
};
// "decode" of a sweep file, which names no file of prompts, no proposer and no tree. Unknown keys
// and values out of range are errors.
DecodingSettings parse_decoding_settings(const Json& value, const std::string& where);
JsonObject to_json(const DecodingSettings& settings);

// What a worker is told: how, and where the record goes.
struct DecodingRequest {
  DecodingSettings settings;
  std::filesystem::path out;
};
void write_decoding_request(const std::filesystem::path& file, const DecodingRequest& request);
DecodingRequest read_decoding_request(const std::filesystem::path& file);

// Of decoding all prompts once.
struct DecodingCost {
  int64_t tokens = 0,
          passes = 0;  // behind each answer's first token, which the prompt's pass gives
  // On the wall: the target over prompts, the drafter, the target over drafts, choosing.
  double prompt_seconds = 0, draft_seconds = 0, verify_seconds = 0, rest_seconds = 0;

  double seconds() const { return draft_seconds + verify_seconds + rest_seconds; }
  double tokens_per_pass() const;    // NaN without a pass
  double tokens_per_second() const;  // prompts are not in it; NaN without seconds
};

// One answer of the drafter's decoding.
struct DecodedPrompt {
  std::string id;
  int64_t tokens = 0, passes = 0;  // as in DecodingCost
  // Greedy answers alone: whether plain decoding says the same, token for token.
  std::optional<bool> same;
};

// A piece of an answer, and whether the drafter proposed it.
struct DecodedPiece {
  std::string text;
  bool drafted = false;
};
struct DecodedSample {
  std::string id;
  std::vector<DecodedPiece> pieces;  // in order; UTF-8
};

// decoding.json: what speculative decoding with a run's drafter did, and plain decoding of the same
// prompts in turn with it.
struct DecodingRecord {
  DecodingSettings settings;
  std::string weights_hash;  // of the drafter
  std::string proposer;      // as in the settings
  DecodingCost speculative, plain;
  // Quartiles of the seconds of plain passes; NaN where there were none. They take equal work but
  // for a growing context, so that a wide spread means that something else ran.
  double pass_low = NAN, pass_median = NAN, pass_high = NAN;
  std::vector<DecodedPrompt> prompts;
  std::vector<DecodedSample> samples;
  Machine machine;

  // Tokens a second over those of plain decoding in the same process.
  double speed_up() const { return speculative.tokens_per_second() / plain.tokens_per_second(); }
  int64_t different() const;  // answers that are not the plain ones
  // Quartiles of plain passes a fifth of their median apart: seconds say little then.
  bool is_disturbed() const { return pass_high - pass_low > 0.2 * pass_median; }
};

JsonObject to_json(const DecodingRecord& record);
// Throws Error naming the key where the object is broken.
DecodingRecord decoding_from_json(const Json& value, const std::string& where);

void write_decoding(const std::filesystem::path& file, const DecodingRecord& record);
// Nothing if the file is not there. Throws Error naming the file if it is broken.
std::optional<DecodingRecord> read_decoding(const std::filesystem::path& file);

}  // namespace draftlab
