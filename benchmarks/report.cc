// The report of a large sweep, 200 runs with 2,000 evaluations each, from a folder in memory to all
// of its files; and of one with many arms, 200 with 5 runs each.
#include "reports/page/report.h"

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <filesystem>
#include <string>

#include "reports/checks/checked_study.h"
#include "reports/page/page.h"
#include "testing/synthetic_folder.h"

namespace draftlab {
namespace {

// A folder on the disk for as long as it lives.
class WrittenFolder {
 public:
  WrittenFolder(const char* name, const SyntheticSweep& sweep) : folder_(scratch_folder(name)) {
    write_synthetic_folder(folder_.root(), sweep);
  }
  ~WrittenFolder() { std::filesystem::remove_all(folder_.root()); }
  const RunFolder& folder() const { return folder_; }

 private:
  RunFolder folder_;
};

SyntheticSweep large_sweep() {
  SyntheticSweep sweep;
  sweep.name = "large";
  sweep.steps = 2000;
  sweep.evaluations.clear();
  for (int64_t step = 1; step <= sweep.steps; ++step) sweep.evaluations.push_back(step);
  sweep.seeds = 10;
  sweep.updates = false;
  for (const char* kind : {"adamw", "muon", "normuon", "turbo_muon"}) {
    sweep.arms.push_back(
        {kind, kind, {1e-3, 2e-3, 4e-3, 8e-3, 16e-3}, {1.3, 1.35, 1.4, 1.36, 1.31}, 0.01});
  }
  return sweep;
}

// Made once, removed at the end.
const RunFolder& large_folder() {
  static const WrittenFolder large("draftlab_report_benchmark", large_sweep());
  return large.folder();
}

// 200 arms; the numbers are made up and all differ.
SyntheticSweep many_arms() {
  SyntheticSweep sweep;
  sweep.name = "arms";
  sweep.seeds = 5;
  for (int arm = 0; arm < 200; ++arm) {
    const bool first = arm == 0;
    sweep.arms.push_back({"arm " + std::to_string(arm),
                          first ? "adamw" : "muon",
                          {first ? 1e-3 : 1e-3 + 1e-5 * arm},
                          {1.3 + 0.0005 * (arm * 37 % 200)},
                          0.01});
  }
  return sweep;
}

double peak_megabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void BM_Load(benchmark::State& state) {
  const RunFolder& folder = large_folder();
  for (auto _ : state) benchmark::DoNotOptimize(checked_study(folder));
}
BENCHMARK(BM_Load)->Unit(benchmark::kMillisecond);

void BM_Page(benchmark::State& state) {
  const Study study = checked_study(large_folder());
  size_t bytes = 0;
  for (auto _ : state) bytes = page(study, read_zoom_library()).size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_Page)->Unit(benchmark::kMillisecond);

void BM_WholeReport(benchmark::State& state) {
  const RunFolder& folder = large_folder();
  for (auto _ : state) write_report(folder);
  state.counters["peak_MB"] = peak_megabytes();
}
BENCHMARK(BM_WholeReport)->Unit(benchmark::kMillisecond);

void BM_ReportOfManyArms(benchmark::State& state) {
  const WrittenFolder many("draftlab_arms_benchmark", many_arms());
  for (auto _ : state) write_report(many.folder());
  size_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(many.folder().report()))
    if (file.is_regular_file()) bytes += file.file_size();
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_ReportOfManyArms)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace draftlab
