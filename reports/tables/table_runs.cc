#include "reports/tables/tables.h"
#include "reports/text/csv.h"

namespace draftlab {
namespace {

using Column = CsvColumn<Result>;

// Empty where nothing was evaluated, which is not the same as a NaN.
Column at_first(std::string name, Split split, Measure measure) {
  return {std::move(name), [=](const Result& r) -> std::optional<double> {
            if (r.rows(split).empty()) return std::nullopt;
            return r.first(split, measure);
          }};
}

Column at_last(std::string name, Split split, Measure measure) {
  return {std::move(name), [=](const Result& r) -> std::optional<double> {
            if (r.rows(split).empty()) return std::nullopt;
            return r.last(split, measure);
          }};
}

}  // namespace

std::string runs_csv(const std::vector<Result>& results) {
  const auto kHeldOut = Split::kHeldOut, kTuning = Split::kTuning;
  const auto kLoss = Measure::kLoss;
  const auto kLength = Measure::kAcceptanceLength;
  const auto kArgmax = Measure::kAcceptanceLengthArgmax;
  const std::vector<Column> columns = {
      {"run", &Result::run},
      {"arm", &Result::arm},
      {"optimizer", [](const Result& r) { return r.optimizer.kind; }},
      {"learning_rate", [](const Result& r) { return r.optimizer.learning_rate(); }},
      {"seed", [](const Result& r) { return seed_text(r.seeds); }},
      {"phase", &Result::phase},
      {"outcome", &Result::outcome},
      {"steps", &Result::steps},
      {"tokens", &Result::tokens},
      {"train_seconds", &Result::train_seconds},
      {"optimizer_seconds", &Result::optimizer_seconds},
      at_first("val_loss_first", kHeldOut, kLoss),
      at_last("val_loss_last", kHeldOut, kLoss),
      at_first("acceptance_length_first", kHeldOut, kLength),
      at_last("acceptance_length_last", kHeldOut, kLength),
      {"steps_to_target", &Result::steps_to_target},
      {"tokens_to_target", &Result::tokens_to_target},
      {"seconds_to_target", &Result::seconds_to_target},
      {"weights_hash", &Result::weights_hash},
      {"data_seconds", &Result::data_seconds},
      {"model_seconds", &Result::model_seconds},
      at_first("acceptance_length_argmax_first", kHeldOut, kArgmax),
      at_last("acceptance_length_argmax_last", kHeldOut, kArgmax),
      at_last("tuning_loss_last", kTuning, kLoss),
      at_last("tuning_acceptance_length_last", kTuning, kLength),
      {"clipped_share", &Result::clipped_share},
      {"alone", &Result::alone},
      {"seconds_from_timing", &Result::seconds_from_probe},
      {"peak_memory_bytes",
       [](const Result& r) {
         return r.peak_memory_bytes == 0 ? std::nullopt : std::optional(r.peak_memory_bytes);
       }},
      {"weights_seed", [](const Result& r) { return r.seeds.weights; }},
      {"data_seed", [](const Result& r) { return r.seeds.data; }},
      {"noise_seed", [](const Result& r) { return r.seeds.noise; }},
      {"optimizer_options", [](const Result& r) { return canonical(to_json(r.optimizer)); }},
      {"reason", &Result::reason},
      {"folder", &Result::folder},
  };
  return csv(columns, results);
}

}  // namespace draftlab
