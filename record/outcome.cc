#include "record/outcome.h"

#include "base/error.h"
#include "base/file.h"
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
  replace_file(file, pretty(JsonObject{{"outcome", outcome_name(outcome.kind)},
                                       {"step", outcome.step},
                                       {"reason", outcome.reason},
                                       {"weights_hash", outcome.weights_hash},
                                       {"train_seconds", outcome.train_seconds},
                                       {"data_seconds", outcome.data_seconds},
                                       {"model_seconds", outcome.model_seconds},
                                       {"optimizer_seconds", outcome.optimizer_seconds},
                                       {"peak_memory_bytes", outcome.peak_memory_bytes}}));
}

std::optional<Outcome> read_outcome(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
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
  fields.finish();
  return outcome;
}

}  // namespace draftlab
