#include "reports/study/pause.h"

#include <map>

#include "reports/stats/statistics.h"

namespace draftlab {
namespace {

constexpr double kTimes = 10, kMoreSeconds = 1;
constexpr size_t kFewest = 5;

double seconds(const StepRow& row) {
  return row.data_seconds + row.model_seconds + row.optimizer_seconds;
}

}  // namespace

std::vector<Pause> pauses(const std::vector<StepRow>& steps, int64_t period) {
  std::map<int64_t, std::vector<const StepRow*>> of_equal_work;
  for (const StepRow& row : steps) of_equal_work[row.step % period].push_back(&row);
  std::vector<Pause> found;
  for (const auto& [_, rows] : of_equal_work) {
    if (rows.size() < kFewest) continue;
    std::vector<double> times;
    for (const StepRow* row : rows) times.push_back(seconds(*row));
    const double usual = median(times);
    for (const StepRow* row : rows) {
      const double time = seconds(*row);
      if (time > kTimes * usual && time > usual + kMoreSeconds)
        found.push_back({row->step, time, usual});
    }
  }
  return found;
}

}  // namespace draftlab
