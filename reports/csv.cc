#include "reports/csv.h"

#include <algorithm>
#include <functional>

#include "base/number_text.h"

namespace draftlab {
namespace {

template <typename Row>
struct Column {
  std::string name;
  std::function<std::string(const Row&)> text;
};

template <typename Row>
void write_line(const std::vector<Column<Row>>& columns,
                const std::function<std::string(const Column<Row>&)>& text, std::string& out) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out += ',';
    out += csv_field(text(columns[i]));
  }
  out += "\r\n";
}

template <typename Row>
std::string csv(const std::vector<Column<Row>>& columns, const std::vector<Row>& rows) {
  std::string out;
  write_line<Row>(
      columns, [](const Column<Row>& column) { return column.name; }, out);
  for (const Row& row : rows) {
    write_line<Row>(
        columns, [&](const Column<Row>& column) { return column.text(row); }, out);
  }
  return out;
}

std::string whole(int64_t value) { return std::to_string(value); }

std::string number_or_empty(const std::optional<double>& value) {
  return value ? number_text(*value) : "";
}

std::string first(const Result& r, Split split, Measure measure) {
  return r.rows(split).empty() ? "" : number_text(r.first(split, measure));
}

std::string last(const Result& r, Split split, Measure measure) {
  return r.rows(split).empty() ? "" : number_text(r.last(split, measure));
}

std::string alone_text(const Result& r) { return !r.alone ? "" : *r.alone ? "yes" : "no"; }

// One line of evaluations.csv; either row may be missing.
struct Evaluation {
  const Result* run;
  const EvaluationRow* held_out;
  const EvaluationRow* tuning;
  const EvaluationRow& any() const { return held_out != nullptr ? *held_out : *tuning; }
};

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
Column<Evaluation> of_row(std::string name, const EvaluationRow* Evaluation::*which,
                          double EvaluationRow::*value) {
  return {std::move(name), [which, value](const Evaluation& e) {
            return e.*which == nullptr ? "" : number_text((e.*which)->*value);
          }};
}

Column<Evaluation> of_slot(std::string name, std::vector<double> EvaluationRow::*shares, size_t k) {
  return {std::move(name), [shares, k](const Evaluation& e) -> std::string {
            if (e.held_out == nullptr || k >= (e.held_out->*shares).size()) return "";
            return number_text((e.held_out->*shares)[k]);
          }};
}

// One line of updates.csv.
struct Update {
  const Result* run;
  const UpdateRow* row;
  const GradientRow* gradients;  // null: no evaluation ended at this step
};

std::vector<Update> updates_of(const std::vector<Result>& results) {
  std::vector<Update> updates;
  for (const Result& run : results) {
    for (const UpdateRow& row : run.updates) {
      const auto gradients =
          std::find_if(run.gradients.begin(), run.gradients.end(),
                       [&](const GradientRow& each) { return each.step == row.step; });
      updates.push_back({&run, &row, gradients == run.gradients.end() ? nullptr : &*gradients});
    }
  }
  return updates;
}

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

std::string runs_csv(const std::vector<Result>& results) {
  using R = Result;
  const auto kLoss = Measure::kLoss;
  const auto kLength = Measure::kAcceptanceLength;
  const auto kArgmax = Measure::kAcceptanceLengthArgmax;
  const std::vector<Column<R>> columns = {
      {"run", [](const R& r) { return r.run; }},
      {"arm", [](const R& r) { return r.arm; }},
      {"optimizer", [](const R& r) { return r.optimizer.kind; }},
      {"learning_rate", [](const R& r) { return number_text(r.optimizer.learning_rate()); }},
      {"seed", [](const R& r) { return seed_text(r.seeds); }},
      {"outcome", [](const R& r) { return r.outcome; }},
      {"steps", [](const R& r) { return whole(r.steps); }},
      {"tokens", [](const R& r) { return whole(r.tokens); }},
      {"train_seconds", [](const R& r) { return number_text(r.train_seconds); }},
      {"optimizer_seconds", [](const R& r) { return number_text(r.optimizer_seconds); }},
      {"val_loss_first", [=](const R& r) { return first(r, Split::kHeldOut, kLoss); }},
      {"val_loss_last", [=](const R& r) { return last(r, Split::kHeldOut, kLoss); }},
      {"acceptance_length_first", [=](const R& r) { return first(r, Split::kHeldOut, kLength); }},
      {"acceptance_length_last", [=](const R& r) { return last(r, Split::kHeldOut, kLength); }},
      {"steps_to_target", [](const R& r) { return number_or_empty(r.steps_to_target); }},
      {"seconds_to_target", [](const R& r) { return number_or_empty(r.seconds_to_target); }},
      {"weights_hash", [](const R& r) { return r.weights_hash; }},
      {"data_seconds", [](const R& r) { return number_text(r.data_seconds); }},
      {"model_seconds", [](const R& r) { return number_text(r.model_seconds); }},
      {"acceptance_length_argmax_first",
       [=](const R& r) { return first(r, Split::kHeldOut, kArgmax); }},
      {"acceptance_length_argmax_last",
       [=](const R& r) { return last(r, Split::kHeldOut, kArgmax); }},
      {"tuning_loss_last", [=](const R& r) { return last(r, Split::kTuning, kLoss); }},
      {"tuning_acceptance_length_last",
       [=](const R& r) { return last(r, Split::kTuning, kLength); }},
      {"clipped_share", [](const R& r) { return number_text(r.clipped_share); }},
      {"alone", alone_text},
      {"peak_memory_bytes",
       [](const R& r) { return r.peak_memory_bytes == 0 ? "" : whole(r.peak_memory_bytes); }},
      {"weights_seed", [](const R& r) { return whole(r.seeds.weights); }},
      {"data_seed", [](const R& r) { return whole(r.seeds.data); }},
      {"noise_seed", [](const R& r) { return whole(r.seeds.noise); }},
      {"optimizer_options", [](const R& r) { return canonical(to_json(r.optimizer)); }},
      {"reason", [](const R& r) { return r.reason; }},
  };
  return csv(columns, results);
}

std::string evaluations_csv(const std::vector<Result>& results) {
  using E = Evaluation;
  using Row = EvaluationRow;
  const auto val = &E::held_out;
  const auto tuning = &E::tuning;
  std::vector<Column<E>> columns = {
      {"run", [](const E& e) { return e.run->run; }},
      {"step", [](const E& e) { return whole(e.any().step); }},
      {"tokens", [](const E& e) { return whole(e.any().tokens); }},
      {"train_seconds", [](const E& e) { return number_text(e.any().train_seconds); }},
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
  const std::vector<Column<E>> more = {
      of_row("acceptance_length_per_prompt", val, &Row::acceptance_length_per_prompt),
      {"blocks", [](const E& e) { return e.held_out ? whole(e.held_out->blocks) : ""; }},
      {"prompts", [](const E& e) { return e.held_out ? whole(e.held_out->prompts) : ""; }},
      of_row("tuning_loss", tuning, &Row::loss),
      of_row("tuning_acceptance_length", tuning, &Row::acceptance_length),
      of_row("tuning_acceptance_length_argmax", tuning, &Row::acceptance_length_argmax),
  };
  columns.insert(columns.end(), more.begin(), more.end());
  return csv(columns, evaluations_of(results));
}

std::string updates_csv(const std::vector<Result>& results) {
  using U = Update;
  const auto of_gradients = [](double GradientRow::*value) {
    return [value](const U& u) {
      return u.gradients == nullptr ? "" : number_text(u.gradients->*value);
    };
  };
  const std::vector<Column<U>> columns = {
      {"run", [](const U& u) { return u.run->run; }},
      {"arm", [](const U& u) { return u.run->arm; }},
      {"seed", [](const U& u) { return seed_text(u.run->seeds); }},
      {"step", [](const U& u) { return whole(u.row->step); }},
      {"kind", [](const U& u) { return u.row->kind; }},
      {"rule", [](const U& u) { return u.row->rule; }},
      {"update_rms", [](const U& u) { return number_text(u.row->update_rms); }},
      {"weight_rms", [](const U& u) { return number_text(u.row->weight_rms); }},
      {"ratio", [](const U& u) { return number_text(u.row->ratio()); }},
      {"alignment", [](const U& u) { return number_text(u.row->alignment); }},
      {"deviation", [](const U& u) { return number_text(u.row->deviation); }},
      {"gradient_norm", of_gradients(&GradientRow::norm)},
      {"clipped_share", of_gradients(&GradientRow::clipped_share)},
      {"schedule", of_gradients(&GradientRow::schedule)},
  };
  return csv(columns, updates_of(results));
}

}  // namespace draftlab
