#include "record/outcome.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"

namespace draftlab {
namespace {

OutcomeKind outcome_kind(const std::string& name, const std::string& where) {
  require_one_of(name, {"done", "diverged", "failed", "interrupted"}, where);
  for (OutcomeKind kind : {OutcomeKind::kDone, OutcomeKind::kDiverged, OutcomeKind::kFailed}) {
    if (outcome_name(kind) == name) return kind;
  }
  return OutcomeKind::kInterrupted;
}

}  // namespace

std::string outcome_name(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kDone:
      return "done";
    case OutcomeKind::kDiverged:
      return "diverged";
    case OutcomeKind::kFailed:
      return "failed";
    case OutcomeKind::kInterrupted:
      return "interrupted";
  }
  return "";
}

void write_outcome(const std::filesystem::path& file, const Outcome& outcome) {
  JsonObject content{{"outcome", outcome_name(outcome.kind)},
                     {"step", outcome.step},
                     {"reason", outcome.reason},
                     {"weights_hash", outcome.weights_hash},
                     {"train_seconds", outcome.train_seconds},
                     {"data_seconds", outcome.data_seconds},
                     {"model_seconds", outcome.model_seconds},
                     {"optimizer_seconds", outcome.optimizer_seconds},
                     {"peak_memory_bytes", outcome.peak_memory_bytes},
                     {"segment", outcome.segment},
                     {"metrics_sha256", outcome.metrics_sha256},
                     {"notices", JsonArray(outcome.notices.begin(), outcome.notices.end())}};
  content["sha256"] = sha256_hex(canonical(content));
  replace_file(file, pretty(content));
}

std::optional<Outcome> read_outcome(const std::filesystem::path& file, const std::string& segment) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const char* const advice = "; remove it and resume, and the segment goes on from its checkpoint";
  const Json value = read_json(file);
  Fields fields(value, file.string());
  Outcome outcome;
  outcome.kind = outcome_kind(fields.text("outcome"), fields.where("outcome"));
  outcome.step = fields.integer("step");
  outcome.reason = fields.text("reason");
  outcome.weights_hash = fields.text("weights_hash");
  outcome.train_seconds = fields.number("train_seconds");
  outcome.data_seconds = fields.number("data_seconds");
  outcome.model_seconds = fields.number("model_seconds");
  outcome.optimizer_seconds = fields.number("optimizer_seconds");
  outcome.peak_memory_bytes = fields.integer("peak_memory_bytes");
  if (fields.has("sha256")) {
    outcome.segment = fields.text("segment");
    outcome.metrics_sha256 = fields.text("metrics_sha256");
    outcome.notices = fields.texts("notices");
    JsonObject content = value.as_object();
    content.erase("sha256");
    if (sha256_hex(canonical(content)) != fields.text("sha256"))
      throw Error(file.string(), std::string("does not fit its own hash; it was damaged") + advice);
  }
  fields.finish();
  if (!segment.empty() && !outcome.segment.empty() && outcome.segment != segment) {
    throw Error(file.string(),
                "is the outcome of segment " + outcome.segment + ", not of " + segment + advice);
  }
  return outcome;
}

}  // namespace draftlab
