#include "tests/smoke.h"

#include "base/file.h"
#include "base/number_text.h"
#include "record/metrics.h"
#include "record/outcome.h"
#include "source_dir.h"

namespace draftlab {

std::string SmokeTest::write_sweep(const std::string& name,
                                   const std::function<void(JsonObject&)>& change) const {
  const std::filesystem::path sweeps = std::filesystem::path(DRAFTLAB_SOURCE_DIR) / "sweeps";
  Json sweep = read_json(sweeps / "smoke.json");
  Json& specification = sweep.at("store").at("specification");
  specification = (sweeps / std::string(specification.as_string())).string();
  change(sweep.as_object());
  replace_file(folder_ / name, pretty(sweep));
  return path(name);
}

std::string SmokeTest::write_long_sweep(const std::string& name, int runs) const {
  return write_sweep(name, [&](JsonObject& sweep) {
    sweep["training"].as_object()["steps"] = 1200;
    sweep["evaluation"] = JsonObject{{"every", 100}, {"stride", 2}};
    sweep["checkpoint_every"] = 10;
    JsonArray seeds;
    for (int seed = 1; seed <= runs; ++seed) seeds.emplace_back(seed);
    sweep["seeds"] = seeds;
    sweep["arms"] = JsonArray{JsonObject{
        {"name", "AdamW"}, {"optimizer", JsonObject{{"kind", "adamw"}, {"learning_rate", 3e-3}}}}};
  });
}

std::string SmokeTest::store() {
  if (!std::filesystem::exists(folder_ / "store")) {
    const Finished build =
        draftlab({"store", "build", DRAFTLAB_SOURCE_DIR "/sweeps/stores/made_up.json", "--out",
                  path("store")});
    EXPECT_EQ(build.status, 0) << build.output;
  }
  return path("store");
}

std::string SmokeTest::undisturbed(const std::string& sweep) {
  const Finished run =
      draftlab({"run", sweep, "--out", path("undisturbed"), "--store", store(), "--jobs", "1"});
  EXPECT_EQ(run.status, 0) << run.output;
  return numbers_of(path("undisturbed"));
}

void SmokeTest::expect_resumed_as(const std::string& numbers, const std::string& run_folder) {
  const Finished resume = draftlab({"resume", run_folder, "--jobs", "1"});
  EXPECT_EQ(resume.status, 0) << resume.output;
  EXPECT_EQ(numbers_of(run_folder), numbers);
}

void SmokeTest::wait_for_checkpoint(const std::string& run_folder, int64_t step) {
  ASSERT_TRUE(eventually([&] {
    return std::filesystem::exists(RunFolder(run_folder).plan()) &&
           segment_of(run_folder, 0).last_checkpoint().value_or(0) >= step;
  }));
}

PlanRecord SmokeTest::plan_of(const std::string& run_folder) {
  return read_plan(RunFolder(run_folder));
}

SegmentFolder SmokeTest::segment_of(const std::string& run_folder, size_t index) {
  return SegmentFolder(RunFolder(run_folder), plan_of(run_folder).segments[index].id);
}

std::string SmokeTest::numbers_of(const std::string& run_folder) {
  std::string text;
  for (const PlannedRun& run : plan_of(run_folder).runs) {
    const SegmentFolder segment(RunFolder(run_folder), run.segments.back());
    const auto outcome = read_outcome(segment.outcome());
    text += run.name + ": ";
    if (!outcome) {
      text += "no outcome\n";
      continue;
    }
    text += outcome_name(outcome->kind) + " at step " + std::to_string(outcome->step) +
            ", weights " + outcome->weights_hash + "\n";
    const Metrics metrics = read_metrics(segment.metrics());
    for (const StepRow& row : metrics.steps) {
      text += run.name + ": step " + std::to_string(row.step) + " tokens " +
              std::to_string(row.tokens) + " loss " + number_text(row.loss) + " rate " +
              number_text(row.learning_rate) + " gradient " + number_text(row.gradient_norm) + "\n";
    }
    for (const EvaluationRow& row : metrics.evaluations) {
      text += run.name + ": evaluation " + std::to_string(row.step) + " " + row.split + " loss " +
              number_text(row.loss) + " acceptance " + number_text(row.acceptance_length) + " " +
              number_text(row.acceptance_length_argmax) + " expected " +
              number_text(row.expected_acceptance_length) + "\n";
    }
  }
  return text;
}

}  // namespace draftlab
