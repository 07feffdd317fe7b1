#include "testing/fair_study.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(FairnessTest, F11UnequalTraining) {
  for (size_t i = 0; i < 3; ++i) run("Muon", i).config.training.clip = 0.5;
  const Findings findings = of("F11");
  ASSERT_THAT(findings, ElementsAre(finding(kRefuse, "Clip differs: 1 in 3 runs such as AdamW",
                                            "0.5 in 3 runs such as Muon")));
  EXPECT_THAT(findings[0].arms, ElementsAre("Muon"));
}

TEST_F(FairnessTest, F11AnotherLossIsToldAndForbidsNothing) {
  EXPECT_THAT(of("F11"), IsEmpty());
  for (size_t i = 0; i < 3; ++i) run("Muon", i).config.training.loss = parse_loss("kl", "test");
  const Findings findings = of("F11");
  EXPECT_THAT(findings, ElementsAre(finding(kInform, "Training loss differs: ce in 3 runs such as",
                                            "kl in 3 runs such as Muon")));
  EXPECT_FALSE(refuses(findings[0], "AdamW", "Muon", false));
  EXPECT_FALSE(refuses(findings[0], "AdamW", "Muon", true));
}

TEST_F(FairnessTest, F12UnequalSchedules) {
  run("Muon", 0).config.training.warmup = 0.5;
  EXPECT_THAT(of("F12"), ElementsAre(finding(kRefuse, "Warm-up differs: 0.04 in 5 runs")));
}

TEST_F(FairnessTest, F12ReadInTheMiddleOfASchedule) {
  for (size_t i = 0; i < 3; ++i) {
    for (EvaluationRow& row : run("Muon", i).held_out) row.train_seconds *= 2;
    run("Muon", i).train_seconds *= 2;
  }
  const Findings findings = of("F12");
  ASSERT_THAT(findings, ElementsAre(finding(kRefuse, "Muon at about step 50 of 100")));
  EXPECT_TRUE(findings[0].by_time_only);
  EXPECT_FALSE(refuses(findings[0], "AdamW", "Muon", false));
  EXPECT_TRUE(refuses(findings[0], "AdamW", "Muon", true));
  for (Result& r : study_.results) r.config.training.schedule = "constant";
  EXPECT_THAT(of("F12"), IsEmpty());
}

TEST_F(FairnessTest, F24AMuonArmWithoutMuon) {
  for (size_t i = 0; i < 3; ++i) {
    for (Route& route : run("Muon", i).config.routing) route.rule = "adamw";
  }
  EXPECT_THAT(of("F24"), ElementsAre(finding(kRefuse, "No tensor of Muon is updated by muon")));
}

TEST_F(FairnessTest, F24VectorsOrthogonalizedMatricesLeftAndTensorsFrozen) {
  for (size_t i = 0; i < 3; ++i) {
    for (Route& route : run("Muon", i).config.routing) {
      if (route.name == "norm.weight") route.rule = "muon";
      if (route.name == "fc.weight") route.rule = "adamw";
      if (route.name == "hidden_norm.weight") route.rule = "frozen";
    }
  }
  EXPECT_THAT(of("F24"),
              ElementsAre(finding(kRefuse, "norm.weight of Muon went to muon"),
                          finding(kInform, "Muon updates fc.weight by AdamW"),
                          finding(kRefuse, "no tensor by AdamW", "hidden_norm.weight by Muon")));
}

TEST_F(FairnessTest, F25DefaultsThatDifferAndNobodyStated) {
  JsonArray& arms = study_.plan.sweep.get_object()["arms"].get_array();
  arms[1].get_object()["optimizer"].get_object().erase("weight_decay");
  EXPECT_THAT(of("F25"), IsEmpty());  // the same value, stated or not
  for (size_t i = 0; i < 3; ++i) {
    run("Muon", i).optimizer = parse_optimizer_config(
        JsonObject{{"kind", "muon"}, {"learning_rate", 0.001}, {"weight_decay", 0.1}}, "test");
  }
  EXPECT_THAT(of("F25"), ElementsAre(finding(kWarn, "does not state weight_decay of Muon",
                                             "0 for AdamW; 0.1 for Muon")));
}

TEST_F(FairnessTest, F26UpdatesOfAnotherSize) {
  for (size_t i = 0; i < 3; ++i) {
    for (UpdateRow& row : run("Muon", i).updates) row.update_rms = 2e-3;
  }
  EXPECT_THAT(of("F26"), ElementsAre(finding(kInform, "the matrices of Muon by 0.02",
                                             "those of AdamW by 0.001")));
}

TEST_F(FairnessTest, F12EqualSecondsReadAScheduleOnlyWhereItIsDownToAHundredth) {
  // Of 100 steps with a warm-up of 4 the rate is below 1 % from step 94 on.
  for (const auto& [step, refused] : {std::pair{93, true}, {94, false}}) {
    for (size_t i = 0; i < 3; ++i) {
      run("Muon", i).train_seconds = run("Muon", i).held_out.back().train_seconds =
          10 * 100. / step;
    }
    EXPECT_EQ(of("F12").size(), refused ? 1u : 0u) << step;
    for (Result& run : study_.results) run.config.training.schedule = "constant";
    EXPECT_THAT(of("F12"), IsEmpty());
    for (Result& run : study_.results) run.config.training.schedule = "cosine";
  }
}

TEST_F(FairnessTest, ArmsWithTheStepsThatFitABudgetOfSecondsAreCompared) {
  for (size_t i = 0; i < 3; ++i) {
    Result& r = run("Muon", i);
    r.steps = r.config.training.steps = 60;
    r.config.evaluation.steps = {0, 50, 60};
    r.held_out.back().step = r.tuning.back().step = 60;
  }
  EXPECT_THAT(of("F12"), ::testing::Not(IsEmpty()));
  EXPECT_THAT(of("F16"), ::testing::Not(IsEmpty()));
  study_.plan.sweep.as_object()["compare"] =
      parse_json(R"({"seconds": 10, "step_seconds": {"AdamW": 0.1, "Muon": 0.16}})", "test");
  for (const char* id : {"F12", "F15", "F16"}) EXPECT_THAT(of(id), IsEmpty()) << id;
  // But they must have trained for as long.
  for (size_t i = 0; i < 3; ++i) run("Muon", i).train_seconds = 11.01;
  EXPECT_THAT(of("F12"), ElementsAre(finding(kWarn,
                                             "The budget is 10.0 s of training, but Muon "
                                             "for 11.0 s trained")));
  for (size_t i = 0; i < 3; ++i) run("Muon", i).train_seconds = 10.99;
  EXPECT_THAT(of("F12"), IsEmpty());
  run("Muon", 1).config.training.warmup = 0.3;
  EXPECT_THAT(of("F12"), ElementsAre(finding(kRefuse, "Warm-up differs")));
}

TEST_F(FairnessTest, F40AnOptionOfOneArmAloneThatIsNeitherDefaultNorTuned) {
  const auto set = [&](const std::string& arm, const char* options) {
    const JsonObject stated = parse_json(options, "test").get_object();
    for (size_t i = 0; i < 3; ++i) {
      JsonObject object = to_json(run(arm, i).optimizer);
      for (const auto& option : stated) object[option.key()] = option.value();
      run(arm, i).optimizer = parse_optimizer_config(object, "test");
    }
  };
  EXPECT_THAT(of("F40"), IsEmpty()) << "both state a decay of 0";
  set("AdamW", R"({"beta1": 0})");  // Muon's own AdamW keeps 0.9
  EXPECT_THAT(of("F40"), ElementsAre(finding(kWarn, "Beta1 is 0 for AdamW,", "the default (0.9)")));
  set("Muon", R"({"adamw": {"learning_rate": 0.001, "beta1": 0}})");
  EXPECT_THAT(of("F40"), IsEmpty()) << "alike in both";
  set("Muon", R"({"weight_decay": 0.9})");
  EXPECT_THAT(of("F40"), ElementsAre(finding(kWarn, "Weight_decay is 0.9 for Muon,")));
  add("Muon", "muon", 0.001, 1, 1.1);  // with a decay of 0
  EXPECT_THAT(of("F40"), IsEmpty()) << "it was tuned";
  set("AdamW", R"({"weight_decay": 0.5})");
  EXPECT_THAT(of("F40"), ElementsAre(finding(kWarn, "Weight_decay is 0.5 for AdamW,")));
}

TEST_F(FairnessTest, F40AnOptionThatNoOtherArmHasThatSomeShareAndATechniqueLeftOut) {
  const auto set = [&](const std::string& arm, const std::string& kind, JsonObject options) {
    options["kind"] = kind;
    options["learning_rate"] = 0.001;
    options["weight_decay"] = 0;
    for (size_t i = 0; i < 3; ++i) run(arm, i).optimizer = parse_optimizer_config(options, "test");
  };
  for (const int64_t seed : {4, 5, 6}) add("NorMuon", "normuon", 0.001, seed, 1.35);
  for (const int64_t seed : {4, 5, 6}) add("Turbo", "turbo_muon", 0.001, seed, 1.36);
  EXPECT_THAT(of("F40"), IsEmpty());
  set("Muon", "muon", {{"momentum", 0}});
  EXPECT_THAT(of("F40"), ElementsAre(finding(kWarn, "Momentum is 0 for Muon,")));
  set("NorMuon", "normuon", {{"momentum", 0}});
  EXPECT_THAT(of("F40"), ElementsAre(finding(kWarn, "Momentum is 0 for Muon and NorMuon,")));
  set("NorMuon", "normuon", {});
  set("Muon", "muon", {{"nesterov", false}});
  EXPECT_THAT(of("F40"), ElementsAre(finding(kWarn, "Nesterov is false for Muon,", "(true)")));
  set("Muon", "muon", {{"cautious", true}, {"orthogonalizer", "polar_express"}});
  EXPECT_THAT(of("F40"), IsEmpty()) << "what the arm is about";
  set("Muon", "muon", {{"steps", 3}});
  EXPECT_THAT(of("F40"), ElementsAre(finding(kWarn, "Steps is 3 for Muon,")));
  for (const int64_t seed : {4, 5, 6}) add("Muon, five steps", "muon", 0.001, seed, 1.37);
  EXPECT_THAT(of("F40"), IsEmpty()) << "the question of the sweep";
}

}  // namespace
}  // namespace draftlab
