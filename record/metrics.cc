#include "record/metrics.h"

#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "record/metrics_line.h"

namespace draftlab {
namespace {

JsonArray to_array(const std::vector<double>& values) {
  return JsonArray(values.begin(), values.end());
}

std::vector<int64_t> integers_if_any(Fields& fields, const char* key) {
  return fields.has(key) ? fields.integers(key) : std::vector<int64_t>();
}

std::vector<double> numbers(Fields& fields, const char* key) {
  std::vector<double> values;
  for (const Json& value : fields.array(key))
    values.push_back(json_number(value, fields.where(key)));
  return values;
}

JsonObject to_json(const StepRow& row) {
  return {{"row", "step"},
          {"step", row.step},
          {"tokens", row.tokens},
          {"loss", row.loss},
          {"learning_rate", row.learning_rate},
          {"gradient_norm", row.gradient_norm},
          {"clipped", row.clipped},
          {"data_seconds", row.data_seconds},
          {"model_seconds", row.model_seconds},
          {"optimizer_seconds", row.optimizer_seconds}};
}

StepRow step_row(Fields& fields) {
  StepRow row;
  row.step = fields.integer("step");
  row.tokens = fields.integer("tokens");
  row.loss = fields.number("loss");
  row.learning_rate = fields.number("learning_rate");
  row.gradient_norm = fields.number("gradient_norm");
  row.clipped = fields.boolean("clipped");
  row.data_seconds = fields.number("data_seconds");
  row.model_seconds = fields.number("model_seconds");
  row.optimizer_seconds = fields.number("optimizer_seconds");
  return row;
}

JsonObject to_json(const UpdateRow& row) {
  JsonObject object{{"row", "update"},
                    {"step", row.step},
                    {"kind", row.kind},
                    {"rule", row.rule},
                    {"update_rms", row.update_rms},
                    {"weight_rms", row.weight_rms},
                    {"alignment", row.alignment},
                    {"deviation", row.deviation}};
  if (!row.weight_spectrum.empty()) {
    object["weight_spectrum"] = to_array(row.weight_spectrum);
    object["weight_stable_rank"] = row.weight_stable_rank;
  }
  if (!row.momentum_spectrum.empty()) {
    object["momentum_spectrum"] = to_array(row.momentum_spectrum);
    object["momentum_stable_rank"] = row.momentum_stable_rank;
  }
  return object;
}

UpdateRow update_row(Fields& fields) {
  UpdateRow row;
  row.step = fields.integer("step");
  row.kind = fields.text("kind");
  row.rule = fields.text("rule");
  row.update_rms = fields.number("update_rms");
  row.weight_rms = fields.number("weight_rms");
  row.alignment = fields.number("alignment");
  row.deviation = fields.number("deviation");
  if (fields.has("weight_spectrum")) {
    row.weight_spectrum = numbers(fields, "weight_spectrum");
    row.weight_stable_rank = fields.number("weight_stable_rank");
  }
  if (fields.has("momentum_spectrum")) {
    row.momentum_spectrum = numbers(fields, "momentum_spectrum");
    row.momentum_stable_rank = fields.number("momentum_stable_rank");
  }
  return row;
}

JsonObject to_json(const EvaluationRow& row) {
  JsonObject object{
      {"row", "evaluation"},
      {"step", row.step},
      {"split", row.split},
      {"tokens", row.tokens},
      {"train_seconds", row.train_seconds},
      {"loss", row.loss},
      {"blocks", row.blocks},
      {"prompts", row.prompts},
      {"slot_accuracy", to_array(row.slot_accuracy)},
      {"prefix_share", to_array(row.prefix_share)},
      {"acceptance_length", row.acceptance_length},
      {"acceptance_length_argmax", row.acceptance_length_argmax},
      {"acceptance_length_per_prompt", row.acceptance_length_per_prompt},
      {"prompt_blocks", JsonArray(row.prompt_blocks.begin(), row.prompt_blocks.end())},
      {"prompt_matches", JsonArray(row.prompt_matches.begin(), row.prompt_matches.end())},
      {"data_hash", row.data_hash}};
  if (!row.expected_acceptance.empty()) {
    object["expected_acceptance"] = to_array(row.expected_acceptance);
    object["expected_acceptance_length"] = row.expected_acceptance_length;
  }
  if (!row.top_8_recall.empty()) {
    object["top_2_recall"] = to_array(row.top_2_recall);
    object["top_4_recall"] = to_array(row.top_4_recall);
    object["top_8_recall"] = to_array(row.top_8_recall);
    object["top_8_length"] = row.top_8_length;
  }
  if (!row.tree_lengths.empty()) object["tree_lengths"] = to_array(row.tree_lengths);
  return object;
}

EvaluationRow evaluation_row(Fields& fields) {
  EvaluationRow row;
  row.step = fields.integer("step");
  row.split = fields.text("split");
  row.tokens = fields.integer("tokens");
  row.train_seconds = fields.number("train_seconds");
  row.loss = fields.number("loss");
  row.blocks = fields.integer("blocks");
  row.prompts = fields.integer("prompts");
  row.slot_accuracy = numbers(fields, "slot_accuracy");
  row.prefix_share = numbers(fields, "prefix_share");
  row.acceptance_length = fields.number("acceptance_length");
  row.acceptance_length_argmax = fields.number("acceptance_length_argmax");
  row.acceptance_length_per_prompt = fields.number("acceptance_length_per_prompt");
  if (fields.has("expected_acceptance")) {
    row.expected_acceptance = numbers(fields, "expected_acceptance");
    row.expected_acceptance_length = fields.number("expected_acceptance_length");
  }
  if (fields.has("top_8_recall")) {
    row.top_2_recall = numbers(fields, "top_2_recall");
    row.top_4_recall = numbers(fields, "top_4_recall");
    row.top_8_recall = numbers(fields, "top_8_recall");
    row.top_8_length = fields.number("top_8_length");
  }
  if (fields.has("tree_lengths")) {
    row.tree_lengths = numbers(fields, "tree_lengths");
    if (row.tree_lengths.size() != tree_budgets().size()) {
      throw Error(fields.where("tree_lengths"),
                  "must have " + std::to_string(tree_budgets().size()) + " numbers, has " +
                      std::to_string(row.tree_lengths.size()));
    }
  }
  row.prompt_blocks = integers_if_any(fields, "prompt_blocks");
  row.prompt_matches = integers_if_any(fields, "prompt_matches");
  row.data_hash = fields.text("data_hash", "");
  return row;
}

// Returns the step of the row.
int64_t add_row(const Json& value, const std::string& where, Metrics& metrics) {
  Fields fields(value, where);
  const std::string kind = fields.text("row");
  require_one_of(kind, {"step", "update", "evaluation"}, fields.where("row"));
  if (kind == "step") {
    metrics.steps.push_back(step_row(fields));
  } else if (kind == "update") {
    metrics.updates.push_back(update_row(fields));
  } else {
    metrics.evaluations.push_back(evaluation_row(fields));
  }
  fields.finish();
  return fields.integer("step");
}

}  // namespace

const std::vector<int64_t>& tree_budgets() {
  static const std::vector<int64_t> budgets = {8, 16, 32, 64};
  return budgets;
}

std::string tensor_kind(const std::string& tensor) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string_view kind = tensor;
  if (kind.starts_with("layers.")) {
    size_t end = std::strlen("layers.");
    while (end < kind.size() && is_digit(kind[end])) ++end;
    if (end > std::strlen("layers.") && end < kind.size() && kind[end] == '.')
      kind.remove_prefix(end + 1);
  }
  if (kind.ends_with(".weight")) kind.remove_suffix(std::strlen(".weight"));
  return std::string(kind);
}

Metrics read_metrics(const std::filesystem::path& file, const std::string& sha256) {
  Metrics metrics;
  const std::string text = read_file(file);
  if (!sha256.empty() && sha256_hex(text) != sha256) {
    throw Error(
        file.string(),
        "is not what its finished segment wrote: rows were lost, changed or added; remove the "
        "segment's folder and resume to train it anew");
  }
  int64_t number = 0;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    ++number;
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (add_written_line(line, metrics)) continue;
    const std::string where = file.string() + ", line " + std::to_string(number);
    add_row(parse_json(line, where), where, metrics);
  }
  return metrics;
}

MetricsLog::MetricsLog(std::filesystem::path file, int64_t keep, Disk& disk)
    : log_(std::move(file), keep, disk) {}

void MetricsLog::add(const StepRow& row) { buffer_ += canonical(to_json(row)) + "\n"; }
void MetricsLog::add(const UpdateRow& row) { buffer_ += canonical(to_json(row)) + "\n"; }
void MetricsLog::add(const EvaluationRow& row) { buffer_ += canonical(to_json(row)) + "\n"; }

void MetricsLog::flush() { log_.append(std::exchange(buffer_, {})); }

JsonObject to_json(const Baselines& baselines) {
  JsonObject object{{"bigram_acceptance_length", baselines.bigram_acceptance_length},
                    {"bigram_acceptance_length_argmax", baselines.bigram_acceptance_length_argmax},
                    {"blocks", baselines.blocks},
                    {"prompts", baselines.prompts},
                    {"initial_weights_hash", baselines.initial_weights_hash},
                    {"duplicates", baselines.duplicates}};
  if (!std::isnan(baselines.look_up_acceptance_length)) {
    object["look_up_acceptance_length"] = baselines.look_up_acceptance_length;
    object["look_up_acceptance_length_argmax"] = baselines.look_up_acceptance_length_argmax;
  }
  if (!baselines.near_copies.empty())
    object["near_copies"] = JsonArray(baselines.near_copies.begin(), baselines.near_copies.end());
  return object;
}

Baselines baselines_from_json(const Json& value, const std::string& where) {
  Fields fields(value, where);
  Baselines baselines;
  baselines.bigram_acceptance_length = fields.number("bigram_acceptance_length");
  baselines.bigram_acceptance_length_argmax = fields.number("bigram_acceptance_length_argmax");
  baselines.look_up_acceptance_length = fields.number("look_up_acceptance_length", NAN);
  baselines.look_up_acceptance_length_argmax =
      fields.number("look_up_acceptance_length_argmax", NAN);
  baselines.blocks = fields.integer("blocks");
  baselines.prompts = fields.integer("prompts");
  baselines.initial_weights_hash = fields.text("initial_weights_hash", "");
  baselines.duplicates = fields.integer("duplicates", -1);
  baselines.near_copies = integers_if_any(fields, "near_copies");
  for (const int64_t near : baselines.near_copies) {
    if (near != 0 && near != 1)
      throw Error(fields.where("near_copies"), "holds a flag that is neither 0 nor 1");
  }
  fields.finish();
  return baselines;
}

void write_baselines(const std::filesystem::path& file, const Baselines& baselines) {
  replace_file(file, pretty(to_json(baselines)));
}

Baselines read_baselines(const std::filesystem::path& file) {
  return baselines_from_json(read_json(file), file.string());
}

}  // namespace draftlab
