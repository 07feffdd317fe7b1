#include <algorithm>
#include <utility>

#include "reports/tables/tables.h"
#include "reports/text/csv.h"

namespace draftlab {
namespace {

using RunColumn = CsvColumn<Result>;

// Empty where nothing was evaluated, which is not the same as a NaN.
RunColumn at_first(std::string name, Split split, Measure measure) {
  return {std::move(name), [=](const Result& r) -> std::optional<double> {
            if (r.rows(split).empty()) return std::nullopt;
            return r.first(split, measure);
          }};
}

RunColumn at_last(std::string name, Split split, Measure measure) {
  return {std::move(name), [=](const Result& r) -> std::optional<double> {
            if (r.rows(split).empty()) return std::nullopt;
            return r.last(split, measure);
          }};
}

// One line; either row may be missing.
struct Evaluation {
  const Result* run;
  const EvaluationRow* held_out;
  const EvaluationRow* tuning;
  const EvaluationRow& any() const { return held_out != nullptr ? *held_out : *tuning; }
};
using EvaluationColumn = CsvColumn<Evaluation>;

// Both splits by rising step.
std::vector<Evaluation> evaluations_of(const std::vector<Result>& results) {
  std::vector<Evaluation> evaluations;
  for (const Result& run : results) {
    size_t tuning = 0;
    for (const EvaluationRow& row : run.held_out) {
      while (tuning < run.tuning.size() && run.tuning[tuning].step < row.step) {
        evaluations.push_back({&run, nullptr, &run.tuning[tuning++]});
      }
      const bool both = tuning < run.tuning.size() && run.tuning[tuning].step == row.step;
      evaluations.push_back({&run, &row, both ? &run.tuning[tuning++] : nullptr});
    }
    while (tuning < run.tuning.size()) {
      evaluations.push_back({&run, nullptr, &run.tuning[tuning++]});
    }
  }
  return evaluations;
}

// A column of one split's row.
template <typename Value>
EvaluationColumn of_row(std::string name, const EvaluationRow* Evaluation::*which,
                        Value EvaluationRow::*value) {
  return {std::move(name), [which, value](const Evaluation& e) -> std::optional<Value> {
            if (e.*which == nullptr) return std::nullopt;
            return (e.*which)->*value;
          }};
}

EvaluationColumn of_slot(std::string name, std::vector<double> EvaluationRow::*shares, size_t k) {
  return {std::move(name), [shares, k](const Evaluation& e) -> std::optional<double> {
            if (e.held_out == nullptr || k >= (e.held_out->*shares).size()) return std::nullopt;
            return (e.held_out->*shares)[k];
          }};
}

// One line.
struct Update {
  const Result* run;
  const UpdateRow* row;
  const GradientRow* gradients;  // null: no evaluation ended at this step
};
using UpdateColumn = CsvColumn<Update>;

std::vector<Update> updates_of(const std::vector<Result>& results) {
  std::vector<Update> updates;
  for (const Result& run : results) {
    auto steps = run.gradients.begin();  // both are in step order
    for (const UpdateRow& row : run.updates) {
      while (steps != run.gradients.end() && steps->step < row.step) ++steps;
      const bool known = steps != run.gradients.end() && steps->step == row.step;
      updates.push_back({&run, &row, known ? &*steps : nullptr});
    }
  }
  return updates;
}

UpdateColumn of_update(std::string name, double UpdateRow::*value) {
  return {std::move(name), [value](const Update& u) { return u.row->*value; }};
}

UpdateColumn of_spectrum(std::string name, std::vector<double> UpdateRow::*spectrum, size_t i) {
  return {std::move(name), [spectrum, i](const Update& u) -> std::optional<double> {
            const std::vector<double>& values = u.row->*spectrum;
            if (i >= values.size()) return std::nullopt;
            return values[i];
          }};
}

UpdateColumn of_gradients(std::string name, double GradientRow::*value) {
  return {std::move(name), [value](const Update& u) -> std::optional<double> {
            if (u.gradients == nullptr) return std::nullopt;
            return u.gradients->*value;
          }};
}

RunColumn decoded(const char* name, double (*number)(const DecodingRecord&)) {
  return {name, [number](const Result& r) {
            return r.decoding ? std::optional(number(*r.decoding)) : std::nullopt;
          }};
}

double steps_of(const Result& run) { return static_cast<double>(run.steps); }

}  // namespace

std::string runs_csv(const std::vector<Result>& results) {
  const auto kHeldOut = Split::kHeldOut, kTuning = Split::kTuning;
  const auto kLoss = Measure::kLoss;
  const auto kLength = Measure::kAcceptanceLength;
  const auto kArgmax = Measure::kAcceptanceLengthArgmax;
  const std::vector<RunColumn> columns = {
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
      {"unlabelled_steps", &Result::unlabelled_steps},
      {"setting", &Result::point},
      {"sequences", [](const Result& r) { return sequences_after(r.config, steps_of(r)); }},
      {"epochs",
       [](const Result& r) {
         return r.config.split.train == 0 ? std::nullopt
                                          : std::optional(epochs_after(r.config, steps_of(r)));
       }},
      decoded("tokens_per_pass",
              [](const DecodingRecord& d) { return d.speculative.tokens_per_pass(); }),
      decoded("decoding_speed_up", [](const DecodingRecord& d) { return d.speed_up(); }),
      decoded("decoded_tokens_per_second",
              [](const DecodingRecord& d) { return d.speculative.tokens_per_second(); }),
  };
  return csv(columns, results);
}

std::string evaluations_csv(const std::vector<Result>& results) {
  using Row = EvaluationRow;
  const auto val = &Evaluation::held_out;
  const auto tuning = &Evaluation::tuning;
  std::vector<EvaluationColumn> columns = {
      {"run", [](const Evaluation& e) -> const std::string& { return e.run->run; }},
      {"step", [](const Evaluation& e) { return e.any().step; }},
      {"tokens", [](const Evaluation& e) { return e.any().tokens; }},
      {"train_seconds", [](const Evaluation& e) { return e.any().train_seconds; }},
      of_row("val_loss", val, &Row::loss),
      of_row("acceptance_length", val, &Row::acceptance_length),
      of_row("acceptance_length_argmax", val, &Row::acceptance_length_argmax),
  };
  size_t slots = 0;
  for (const Result& run : results) {
    slots = std::max(slots, static_cast<size_t>(run.config.drafter.block_size - 1));
  }
  for (size_t k = 0; k < slots; ++k) {
    columns.push_back(
        of_slot("slot_" + std::to_string(k + 1) + "_accuracy", &Row::slot_accuracy, k));
  }
  for (size_t k = 0; k < slots; ++k) {
    columns.push_back(of_slot("prefix_" + std::to_string(k + 1) + "_share", &Row::prefix_share, k));
  }
  const auto any_has = [&](std::vector<double> Row::*values) {
    return std::ranges::any_of(results, [&](const Result& run) {
      return std::ranges::any_of(run.held_out,
                                 [&](const Row& row) { return !(row.*values).empty(); });
    });
  };
  // Not in folders of older versions.
  if (any_has(&Row::top_8_recall)) {
    for (const auto& [top, recall] : {std::pair("_top_2_recall", &Row::top_2_recall),
                                      {"_top_4_recall", &Row::top_4_recall},
                                      {"_top_8_recall", &Row::top_8_recall}}) {
      for (size_t k = 0; k < slots; ++k)
        columns.push_back(of_slot("slot_" + std::to_string(k + 1) + top, recall, k));
    }
    columns.emplace_back("top_8_length", [](const Evaluation& e) -> std::optional<double> {
      if (e.held_out == nullptr || e.held_out->top_8_recall.empty()) return std::nullopt;
      return e.held_out->top_8_length;
    });
  }
  if (any_has(&Row::tree_lengths)) {
    for (size_t b = 0; b < tree_budgets().size(); ++b) {
      columns.push_back(
          of_slot("tree_" + std::to_string(tree_budgets()[b]) + "_length", &Row::tree_lengths, b));
    }
  }
  // Only where some store keeps what it takes to know them.
  if (any_has(&Row::expected_acceptance)) {
    columns.emplace_back("expected_acceptance_length",
                         [](const Evaluation& e) -> std::optional<double> {
                           if (e.held_out == nullptr || e.held_out->expected_acceptance.empty())
                             return std::nullopt;
                           return e.held_out->expected_acceptance_length;
                         });
    for (size_t k = 0; k < slots; ++k) {
      columns.push_back(of_slot("slot_" + std::to_string(k + 1) + "_expected_acceptance",
                                &Row::expected_acceptance, k));
    }
  }
  const std::vector<EvaluationColumn> more = {
      of_row("acceptance_length_per_prompt", val, &Row::acceptance_length_per_prompt),
      of_row("blocks", val, &Row::blocks),
      of_row("prompts", val, &Row::prompts),
      of_row("tuning_loss", tuning, &Row::loss),
      of_row("tuning_acceptance_length", tuning, &Row::acceptance_length),
      of_row("tuning_acceptance_length_argmax", tuning, &Row::acceptance_length_argmax),
  };
  columns.insert(columns.end(), more.begin(), more.end());
  return csv(columns, evaluations_of(results));
}

std::string updates_csv(const std::vector<Result>& results) {
  std::vector<UpdateColumn> columns = {
      {"run", [](const Update& u) -> const std::string& { return u.run->run; }},
      {"arm", [](const Update& u) -> const std::string& { return u.run->arm; }},
      {"seed", [](const Update& u) { return seed_text(u.run->seeds); }},
      {"step", [](const Update& u) { return u.row->step; }},
      {"kind", [](const Update& u) -> const std::string& { return u.row->kind; }},
      {"rule", [](const Update& u) -> const std::string& { return u.row->rule; }},
      of_update("update_rms", &UpdateRow::update_rms),
      of_update("weight_rms", &UpdateRow::weight_rms),
      {"ratio", [](const Update& u) { return u.row->ratio(); }},
      of_update("alignment", &UpdateRow::alignment),
      of_update("deviation", &UpdateRow::deviation),
      of_gradients("gradient_norm", &GradientRow::norm),
      of_gradients("clipped_share", &GradientRow::clipped_share),
      of_gradients("schedule", &GradientRow::schedule),
  };
  const std::vector<Update> updates = updates_of(results);
  for (const auto& [name, spectrum, rank] :
       {std::tuple("weight", &UpdateRow::weight_spectrum, &UpdateRow::weight_stable_rank),
        {"momentum", &UpdateRow::momentum_spectrum, &UpdateRow::momentum_stable_rank}}) {
    // Not in folders of older versions.
    const auto known = [spectrum = spectrum](const Update& u) {
      return !(u.row->*spectrum).empty();
    };
    if (std::ranges::none_of(updates, known)) continue;
    for (size_t i = 0; i < std::size(kSpectrumColumns); ++i)
      columns.push_back(
          of_spectrum(name + std::string("_sigma_") + kSpectrumColumns[i], spectrum, i));
    columns.emplace_back(name + std::string("_stable_rank"),
                         [known, rank = rank](const Update& u) -> std::optional<double> {
                           if (!known(u)) return std::nullopt;
                           return u.row->*rank;
                         });
  }
  return csv(columns, updates);
}

}  // namespace draftlab
