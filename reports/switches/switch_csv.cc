#include "reports/switches/switch_study.h"
#include "reports/text/csv.h"

namespace draftlab {
namespace {

struct Row {
  std::string study;
  int64_t switch_step = 0;
  std::string variant;
  double rate = 0;
  bool chosen = false;
  std::string seed;  // "mean": over seeds
  int64_t step = 0;
  double loss = 0;
  std::optional<double> loss_low, loss_high;
  double length = 0;
  std::optional<double> length_low, length_high;
};

void add_rows(Row row, const PairedCurve& loss, const PairedCurve& length, std::vector<Row>& rows) {
  for (size_t s = 0; s < loss.seeds.size(); ++s) {
    row.seed = seed_text(loss.seeds[s]);
    for (size_t i = 0; i < loss.steps.size(); ++i) {
      row.step = loss.steps[i];
      row.loss = loss.of_seed[s][i];
      row.length = length.of_seed[s][i];
      rows.push_back(row);
    }
  }
  row.seed = "mean";
  for (size_t i = 0; i < loss.steps.size(); ++i) {
    const Estimate &a = loss.mean[i], &b = length.mean[i];
    row.step = loss.steps[i];
    row.loss = a.mean;
    row.length = b.mean;
    if (a.n > 1) {
      row.loss_low = a.low;
      row.loss_high = a.high;
      row.length_low = b.low;
      row.length_high = b.high;
    }
    rows.push_back(row);
  }
}

}  // namespace

std::string switch_study_csv(const std::vector<SwitchStudy>& studies) {
  if (studies.empty()) return "";
  std::vector<Row> rows;
  for (const SwitchStudy& study : studies) {
    if (study.status == SwitchStudy::Status::kRefused) continue;
    const SwitchGroup& group = study.group;
    for (const SwitchVariant& variant : group.variants) {
      for (const SwitchSetting& setting : variant.settings) {
        Row row;
        row.study = switch_title(group);
        row.switch_step = group.place.step;
        row.variant = variant.name;
        row.rate = setting.optimizer.learning_rate();
        row.chosen = &setting == variant.chosen();
        add_rows(row, paired_curve(setting.finished, group.reference(), Measure::kLoss),
                 paired_curve(setting.finished, group.reference(), Measure::kAcceptanceLength),
                 rows);
      }
    }
  }
  const std::vector<CsvColumn<Row>> columns = {
      {"study", &Row::study},
      {"switch_step", &Row::switch_step},
      {"variant", &Row::variant},
      {"learning_rate", &Row::rate},
      {"chosen", &Row::chosen},
      {"seed", &Row::seed},
      {"step", &Row::step},
      {"loss_difference", &Row::loss},
      {"loss_difference_low", &Row::loss_low},
      {"loss_difference_high", &Row::loss_high},
      {"acceptance_length_difference", &Row::length},
      {"acceptance_length_difference_low", &Row::length_low},
      {"acceptance_length_difference_high", &Row::length_high}};
  return csv(columns, rows);
}

}  // namespace draftlab
