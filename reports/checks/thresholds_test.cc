// The checks at their thresholds: what lies just below one, on it, and just above.
#include "testing/fair_study.h"

namespace draftlab {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Thresholds : public FairnessTest {
 protected:
  // A fair study, changed; the severities of one check's findings.
  template <typename Change>
  std::vector<Severity> severities(const std::string& id, Change change) {
    const std::vector<Result> before = study_.results;
    const PlanRecord plan = study_.plan;
    change();
    std::vector<Severity> severities;
    for (const FairnessFinding& finding : of(id)) severities.push_back(finding.severity);
    study_.results = before;
    study_.plan = plan;
    return severities;
  }
  // Both arms with so many settings each: the three reported runs, and trials.
  void settings(int64_t adamw, int64_t muon) {
    for (int64_t i = 1; i < adamw; ++i) add_trials("AdamW", "adamw", {0.001 + 1e-4 * i});
    for (int64_t i = 1; i < muon; ++i) add_trials("Muon", "muon", {0.001 + 1e-4 * i});
  }
  void for_muon(auto change) {
    for (size_t i = 0; i < 3; ++i) change(run("Muon", i));
  }
  void time_of_muon(double seconds) {
    for_muon([&](Result& r) {
      for (EvaluationRow& row : r.held_out) row.train_seconds *= seconds / r.train_seconds;
      r.train_seconds = seconds;
    });
  }
};

TEST_F(Thresholds, F01CountsOfSettings) {
  const struct {
    int64_t adamw, muon;
    std::vector<Severity> expected;
  } cases[] = {{3, 3, {}},        {3, 4, {kWarn}}, {3, 6, {kWarn}},  {3, 7, {kRefuse}},
               {7, 3, {kRefuse}}, {2, 4, {kWarn}}, {2, 5, {kRefuse}}};
  for (const auto& each : cases) {
    std::vector<Severity> found = severities("F01", [&] { settings(each.adamw, each.muon); });
    std::erase(found, kInform);  // of their time
    EXPECT_EQ(found, each.expected) << each.adamw << " and " << each.muon;
  }
}

TEST_F(Thresholds, F01SecondsOfAllRuns) {
  EXPECT_THAT(severities("F01", [&] { time_of_muon(20); }), IsEmpty()) << "twice is borne";
  EXPECT_THAT(severities("F01", [&] { time_of_muon(20.1); }), ElementsAre(kInform));
  EXPECT_THAT(severities("F01", [&] { time_of_muon(4.9); }), ElementsAre(kInform));
}

TEST_F(Thresholds, F02SpansOfRates) {
  const auto span = [&](double decades) {
    return severities("F02", [&] {
      add_trials("AdamW", "adamw", {0.001 / std::pow(10, decades)});
      add_trials("Muon", "muon", {0.0005});
    });
  };
  EXPECT_THAT(span(0.30 + 0.49), IsEmpty());
  EXPECT_THAT(span(0.30 + 0.52), ElementsAre(kWarn));
}

TEST_F(Thresholds, F04DistanceToTheNextRate) {
  const auto next = [&](double rate) {
    return severities("F04", [&] { add_trials("AdamW", "adamw", {rate}); });
  };
  EXPECT_THAT(next(0.0029), IsEmpty());
  EXPECT_THAT(next(0.0031), ElementsAre(kInform));
  EXPECT_THAT(next(0.00034), IsEmpty());
  EXPECT_THAT(next(0.00033), ElementsAre(kInform));
  EXPECT_THAT(severities("F04",
                         [&] {
                           add_trials("AdamW", "adamw", {0.0025, 0.007});
                         }),
              IsEmpty())
      << "a far rate that is no neighbour";
}

TEST_F(Thresholds, F07SeedsAtTheChosenSetting) {
  const auto seeds = [&](int64_t count) {
    return severities("F07", [&] {
      std::erase_if(study_.results, [&](const Result& r) { return r.seeds.data >= 4 + count; });
    });
  };
  EXPECT_THAT(seeds(3), IsEmpty());
  EXPECT_THAT(seeds(2), ElementsAre(kRefuse));
  EXPECT_THAT(seeds(1), ElementsAre(kRefuse));
}

// Every field that a batch and a schedule have.
TEST_F(Thresholds, F11AndF12EveryFieldOfTraining) {
  const auto changed = [&](const char* id, auto change) {
    return severities(id, [&] { for_muon([&](Result& r) { change(r.config); }); });
  };
  const auto refused = [&](const char* id, auto change) {
    EXPECT_THAT(changed(id, change), ElementsAre(kRefuse));
    EXPECT_THAT(changed(id == std::string("F11") ? "F12" : "F11", change), IsEmpty());
  };
  refused("F11", [](SegmentConfig& c) { c.training.sequences_per_step += 1; });
  refused("F11", [](SegmentConfig& c) { c.training.anchors += 1; });
  refused("F11", [](SegmentConfig& c) { c.training.clip = 0.99; });
  refused("F11", [](SegmentConfig& c) { c.training.gamma = 0.01; });
  refused("F11", [](SegmentConfig& c) { c.training.device = "cuda"; });
  refused("F12", [](SegmentConfig& c) { c.training.steps += 1; });
  refused("F12", [](SegmentConfig& c) { c.training.schedule = "constant"; });
  refused("F12", [](SegmentConfig& c) { c.training.warmup += 1e-3; });
  refused("F12", [](SegmentConfig& c) { c.start.schedule_from = 1; });
}

TEST_F(Thresholds, F12SecondsBehindTheFastestRun) {
  // When AdamW ends, Muon is at step 94 or 93 of 100; from 94 on its rate is below 1 % of the peak.
  EXPECT_THAT(severities("F12", [&] { time_of_muon(10.6); }), IsEmpty());
  EXPECT_THAT(severities("F12", [&] { time_of_muon(10.8); }), ElementsAre(kRefuse));
}

TEST_F(Thresholds, F19SecondsOnTheClock) {
  const auto stamped = [&](double seconds) {
    return severities("F19", [&] { run("Muon", 0).held_out.back().train_seconds = seconds; });
  };
  for (const double seconds : {9.91, 10.0, 10.09}) EXPECT_THAT(stamped(seconds), IsEmpty());
  for (const double seconds : {9.89, 10.11}) EXPECT_THAT(stamped(seconds), ElementsAre(kWarn));
  const auto waiting = [&](double seconds) {
    return severities("F19", [&] { for_muon([&](Result& r) { r.data_seconds = seconds; }); });
  };
  EXPECT_THAT(waiting(0.99), IsEmpty());
  EXPECT_THAT(waiting(1.01), ElementsAre(kWarn));
  const auto paused = [&](double seconds) {
    return severities("F19", [&] { run("Muon", 0).pauses = {{40, 0.1 + seconds, 0.1}}; });
  };
  EXPECT_THAT(paused(0.99), IsEmpty());
  EXPECT_THAT(paused(1.01), ElementsAre(kWarn));
}

TEST_F(Thresholds, F20QuartilesOfATiming) {
  const auto spread = [&](double low, double high) {
    return severities("F20", [&] {
      Result& result = run("Muon", 0);
      result.seconds_from_probe = true;
      result.probe.emplace();
      for (const double seconds : {low, low, 1.0, high, high})
        result.probe->steps.push_back({.forward = seconds});
    });
  };
  EXPECT_THAT(spread(0.96, 1.05), IsEmpty());
  EXPECT_THAT(spread(0.95, 1.06), ElementsAre(kWarn));
}

TEST_F(Thresholds, F22ARateBelowATenthOfItsPeak) {
  const auto reached_at = [&](int64_t step) {
    return severities("F22", [&] {
      for (size_t i = 0; i < 3; ++i) {
        std::vector<EvaluationRow>& rows = run("AdamW", i).held_out;
        rows[1].step = step;
        rows[1].acceptance_length = study_.plan.target.value;
        for_muon([](Result& r) { r.config.training.steps = 200; });
      }
    });
  };
  EXPECT_THAT(reached_at(80), IsEmpty());
  EXPECT_THAT(reached_at(81), ElementsAre(kWarn));
}

TEST_F(Thresholds, F23LossesThatRise) {
  const auto ends_at = [&](double loss) {
    return severities("F23", [&] { run("AdamW", 0).held_out.back().loss = loss; });
  };
  EXPECT_THAT(ends_at(10), IsEmpty());
  EXPECT_THAT(ends_at(10.01), ElementsAre(kWarn));
  EXPECT_THAT(ends_at(INFINITY), Contains(kRefuse));
}

TEST_F(Thresholds, F26SizesOfUpdates) {
  const auto times = [&](double factor) {
    return severities("F26", [&] {
      for_muon([&](Result& r) {
        for (UpdateRow& row : r.updates) row.update_rms = 1e-4 * factor;
      });
    });
  };
  EXPECT_THAT(times(9.9), IsEmpty());
  EXPECT_THAT(times(10.1), ElementsAre(kInform));
  EXPECT_THAT(times(1 / 10.1), ElementsAre(kInform));
}

TEST_F(Thresholds, F30PromptsAndTheDefinition) {
  const auto prompts = [&](int64_t count) {
    return severities("F30", [&] { run("Muon", 1).held_out.back().prompts = count; });
  };
  EXPECT_THAT(prompts(30), IsEmpty());
  EXPECT_THAT(prompts(29), ElementsAre(kWarn));
  const auto off_by = [&](double difference) {
    return severities("F30", [&] {
      EvaluationRow& row = run("Muon", 0).held_out.back();
      row.prefix_share = {row.acceptance_length - 1 + difference};
    });
  };
  for (const double difference : {5e-7, -5e-7}) EXPECT_THAT(off_by(difference), IsEmpty());
  for (const double difference : {2e-6, -2e-6})
    EXPECT_THAT(off_by(difference), ElementsAre(kRefuse));
}

TEST_F(Thresholds, F35OneDuplicate) {
  EXPECT_THAT(severities("F35", [&] { run("Muon", 0).baselines->duplicates = 1; }),
              ElementsAre(kRefuse));
}

// What cannot happen is listed with its reason, and nothing else is left out.
TEST(CheckKinds, OnlyWhatCannotHappenHasNoFunction) {
  std::vector<std::string> excluded;
  for (const CheckKind& kind : check_kinds()) {
    if (kind.run == nullptr) excluded.push_back(kind.id);
  }
  EXPECT_THAT(excluded, ElementsAre("F14", "F17", "F32"));
}

}  // namespace
}  // namespace draftlab
