#include "train/segment_training.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "base/error.h"
#include "model/drafter.h"
#include "record/lives.h"
#include "record/transfer.h"
#include "testing/example_segments.h"
#include "train/checkpoint.h"
#include "train/trainer.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

class SegmentTraining : public ExampleSegments {
 protected:
  Checkpoint checkpoint_of(const SegmentConfig& config, const std::string& name, int64_t step) {
    const SegmentFolder folder(root_ / "segments" / name);
    return read_checkpoint(folder.checkpoint(step), segment_id(config), step);
  }
};

TEST_F(SegmentTraining, LearnsAndEvaluatesAtThePlannedSteps) {
  const Outcome outcome = train(config(), "learns");
  EXPECT_EQ(outcome.kind, OutcomeKind::kDone);
  EXPECT_EQ(outcome.step, 12);
  EXPECT_EQ(outcome.weights_hash.size(), 64u);
  const Metrics rows = metrics("learns");
  std::vector<int64_t> held_out, tuning;
  for (const auto& row : rows.evaluations)
    (row.split == "held_out" ? held_out : tuning).push_back(row.step);
  EXPECT_THAT(held_out, ::testing::ElementsAre(0, 4, 8, 12));
  EXPECT_EQ(tuning, held_out);
  EXPECT_LT(rows.evaluations.back().loss, rows.evaluations.front().loss);
  EXPECT_GT(rows.evaluations.front().blocks, 0);
  const Baselines baselines = read_baselines(root_ / "segments/learns/baselines.json");
  EXPECT_EQ(baselines.blocks, rows.evaluations.front().blocks);
  EXPECT_GE(baselines.bigram_acceptance_length, 1);
  EXPECT_EQ(baselines.initial_weights_hash,
            weights_hash(initial_parameters(config().drafter, config().seeds.weights)));
  EXPECT_EQ(baselines.duplicates, 0);
  const EvaluationRow& last = rows.evaluations.back();
  EXPECT_EQ(static_cast<int64_t>(last.prompt_blocks.size()), last.prompts);
  EXPECT_EQ(std::accumulate(last.prompt_blocks.begin(), last.prompt_blocks.end(), int64_t{0}),
            last.blocks);
  EXPECT_TRUE(rows.evaluations.front().prompt_blocks.empty());
}

TEST_F(SegmentTraining, StoppedAtEveryStepAndResumedItEqualsARunThatNeverStopped) {
  for (const char* optimizer :
       {R"({"kind": "adamw"})", R"({"kind": "normuon"})", R"({"kind": "turbo_muon"})"}) {
    const SegmentConfig segment = config(optimizer);
    const Outcome whole = train(segment, "whole");
    Outcome stopped;
    int stops = 0;
    do {
      stopped = train(segment, "stopped", true);
      stops += stopped.kind == OutcomeKind::kInterrupted;
    } while (stopped.kind == OutcomeKind::kInterrupted);
    EXPECT_EQ(stops, 11) << optimizer;
    EXPECT_EQ(stopped.kind, OutcomeKind::kDone);
    EXPECT_EQ(stopped.weights_hash, whole.weights_hash) << optimizer;
    expect_equal_rows(metrics("stopped"), metrics("whole"));
    fs::remove_all(root_ / "segments/whole");
    fs::remove_all(root_ / "segments/stopped");
  }
}

TEST_F(SegmentTraining, SecondsAndTheFirstLossOutliveEveryStop) {
  const SegmentFolder folder(root_ / "segments/counted");
  Outcome outcome;
  do {
    outcome = train(config(), "counted", true);
    ASSERT_EQ(folder.last_checkpoint(), outcome.step);
    const Checkpoint checkpoint = checkpoint_of(config(), "counted", outcome.step);
    double data = 0, model = 0, optimizer = 0;
    const Metrics rows = metrics("counted");
    for (const StepRow& row : rows.steps) {
      data += row.data_seconds;
      model += row.model_seconds;
      optimizer += row.optimizer_seconds;
    }
    EXPECT_NEAR(outcome.data_seconds, data, 1e-9);
    EXPECT_NEAR(outcome.model_seconds, model, 1e-9);
    EXPECT_NEAR(outcome.optimizer_seconds, optimizer, 1e-9);
    EXPECT_NEAR(outcome.train_seconds, data + model + optimizer, 1e-9);
    EXPECT_EQ(checkpoint.first_loss, rows.steps.front().loss);
    EXPECT_EQ(checkpoint.tokens, rows.steps.back().tokens);
  } while (outcome.kind == OutcomeKind::kInterrupted);
}

TEST_F(SegmentTraining, AResumeExplodesAgainstTheLossOfTheVeryFirstStep) {
  SegmentConfig segment = config(R"({"kind": "adamw", "learning_rate": 10})");
  segment.training.schedule = "constant";
  segment.training.warmup = 0;
  segment.training.clip = 0;
  const auto resumed = [&](double first_loss, const std::string& name) {
    const SegmentFolder folder(root_ / "segments" / name);
    train(segment, name, true);
    Checkpoint checkpoint = checkpoint_of(segment, name, 1);
    checkpoint.first_loss = first_loss;
    write_checkpoint(folder.checkpoint(1), checkpoint);
    return train(segment, name);
  };
  EXPECT_EQ(resumed(1, "explodes").kind, OutcomeKind::kDiverged);
  EXPECT_THAT(resumed(1, "explodes_too").reason, ::testing::HasSubstr("at step 2, above 15.89"))
      << "five times log(24), of a uniform guess";
  EXPECT_EQ(resumed(1e9, "carries_on").kind, OutcomeKind::kDone);
}

TEST_F(SegmentTraining, KeepsTheLastTwoCheckpointsAndAtItsEndOnlyTheLast) {
  SegmentConfig segment = config();
  const SegmentFolder folder(root_ / "segments/checkpoints");
  const auto steps = [&] {
    std::set<int64_t> steps;
    for (const auto& entry : fs::directory_iterator(folder.checkpoints()))
      steps.insert(SegmentFolder::checkpoint_step(entry.path()).value());
    return steps;
  };
  for (int64_t step = 1; step <= 4; ++step) train(segment, "checkpoints", true);
  EXPECT_EQ(steps(), (std::set<int64_t>{3, 4}));
  train(segment, "checkpoints");
  EXPECT_EQ(steps(), (std::set<int64_t>{12}));
}

TEST_F(SegmentTraining, WhatBecameOfTheParentsStateIsStillWrittenAfterAResume) {
  SegmentConfig first = config(R"({"kind": "adamw"})");
  first.to_step = 6;
  ASSERT_EQ(train(first).kind, OutcomeKind::kDone);
  SegmentConfig second = config();
  second.parent = segment_id(first);
  second.from_step = 6;
  const SegmentFolder folder(root_ / "segments" / segment_id(second));
  train(second, "", true);
  const std::string transfer = read_file(folder.transfer());
  EXPECT_FALSE(read_transfer(folder.transfer()).empty());
  ASSERT_EQ(train(second).kind, OutcomeKind::kDone);
  EXPECT_EQ(read_file(folder.transfer()), transfer);
  std::set<int64_t> steps;
  for (const UpdateRow& row : metrics(segment_id(second)).updates) steps.insert(row.step);
  EXPECT_EQ(steps, (std::set<int64_t>{7, 8, 12})) << "the first after the switch is measured too";
}

TEST_F(SegmentTraining, TheWeightsHashDependsOnEveryTensorItsNameAndItsShape) {
  const NamedTensors weights = initial_parameters(config().drafter, 1);
  const std::string hash = weights_hash(weights);
  for (const auto& [name, weight] : weights) {
    NamedTensors changed = weights;
    changed[name] = weight.clone();
    changed[name].view(-1)[-1] += 1;
    EXPECT_NE(weights_hash(changed), hash) << name;
    changed = weights;
    changed.erase(name);
    EXPECT_NE(weights_hash(changed), hash) << name;
    changed["renamed." + name] = weight;
    EXPECT_NE(weights_hash(changed), hash) << name;
  }
  NamedTensors reshaped = weights;
  reshaped["fc.weight"] = weights.at("fc.weight").reshape({-1, 2});
  EXPECT_NE(weights_hash(reshaped), hash);
}

// Equal batches, whatever else differs; other labels, anchors or order: another hash.
TEST_F(SegmentTraining, TheDataHashTellsWhatWasTrainedOn) {
  const auto trains = [&](const std::string& name, auto change) {
    SegmentConfig segment = config();
    segment.to_step = 1;
    change(segment);
    train(segment, "hash_" + name);
    return checkpoint_of(segment, "hash_" + name, segment.to_step).data_hash;
  };
  const std::string base = trains("base", [](SegmentConfig&) {});
  EXPECT_EQ(base.size(), 16u);
  EXPECT_EQ(trains("weights", [](SegmentConfig& s) { s.seeds.weights = 9; }), base);
  EXPECT_NE(trains("labels", [](SegmentConfig& s) { s.training.labels = "argmax"; }), base);
  EXPECT_NE(trains("noise", [](SegmentConfig& s) { s.seeds.noise = 9; }), base);
  EXPECT_NE(trains("data", [](SegmentConfig& s) { s.seeds.data = 9; }), base);
  EXPECT_NE(trains("anchors", [](SegmentConfig& s) { s.training.anchors = 5; }), base);
  EXPECT_NE(trains("longer", [](SegmentConfig& s) { s.to_step = 2; }), base);
}

// The second batch is the same in both; the first had other labels.
TEST_F(SegmentTraining, TheDataHashRemembersEarlierSteps) {
  const auto after_two_steps = [&](const std::string& labels) {
    SegmentConfig first = config(), second = config();
    first.training.labels = labels;
    first.to_step = 1;
    train(first);
    second.parent = segment_id(first);
    second.from_step = 1;
    second.to_step = 2;
    train(second);
    return checkpoint_of(second, segment_id(second), 2).data_hash;
  };
  EXPECT_NE(after_two_steps("data"), after_two_steps("argmax"));
}

TEST_F(SegmentTraining, CheckpointsAreWrittenOnTheWay) {
  SegmentConfig segment = config(R"({"kind": "adamw", "learning_rate": 10})");
  segment.training.schedule = "constant";
  segment.training.warmup = 0.75;
  segment.training.clip = 0;
  const Outcome outcome = train(segment, "explodes_late");
  ASSERT_EQ(outcome.kind, OutcomeKind::kDiverged);
  ASSERT_GE(outcome.step, 5);
  EXPECT_EQ(SegmentFolder(root_ / "segments/explodes_late").last_checkpoint(),
            outcome.step / 5 * 5);
}

TEST_F(SegmentTraining, TwoSegmentsInARowEqualOne) {
  const Outcome whole = train(config(), "one");
  SegmentConfig first = config();
  first.to_step = 7;
  ASSERT_EQ(train(first).kind, OutcomeKind::kDone);
  SegmentConfig second = config();
  second.parent = segment_id(first);
  second.from_step = 7;
  const Outcome outcome = train(second);
  EXPECT_EQ(outcome.weights_hash, whole.weights_hash);
  EXPECT_EQ(metrics(segment_id(second)).steps.front().step, 8);
}

TEST_F(SegmentTraining, AnotherOptimizerTakesOverTheFirstMomentOrStartsFromZeros) {
  SegmentConfig first = config(R"({"kind": "adamw"})");
  first.to_step = 7;
  ASSERT_EQ(train(first).kind, OutcomeKind::kDone);
  SegmentConfig carried = config(R"({"kind": "muon", "scale": "match_rms"})");
  carried.parent = segment_id(first);
  carried.from_step = 7;
  SegmentConfig reset = carried;
  reset.start.state = "reset";
  const Outcome with_state = train(carried), without = train(reset);
  EXPECT_EQ(with_state.kind, OutcomeKind::kDone);
  EXPECT_EQ(without.kind, OutcomeKind::kDone);
  EXPECT_NE(with_state.weights_hash, without.weights_hash);
  const auto fate = [&](const SegmentConfig& segment, const char* tensor, const char* buffer) {
    const SegmentFolder folder(root_ / "segments" / segment_id(segment));
    for (const TransferRow& row : read_transfer(folder.transfer())) {
      if (row.tensor == tensor && row.buffer == buffer) return row.fate;
    }
    return std::string("absent");
  };
  EXPECT_EQ(fate(carried, "fc.weight", "momentum"), "carried");
  EXPECT_EQ(fate(carried, "fc.weight", "exp_avg_sq"), "dropped");
  EXPECT_EQ(fate(carried, "norm.weight", "exp_avg"), "carried");
  EXPECT_EQ(fate(carried, "norm.weight", "exp_avg_sq"), "converted") << "from beta2 .999 to .95";
  EXPECT_EQ(fate(reset, "fc.weight", "momentum"), "reset");
  EXPECT_EQ(fate(reset, "norm.weight", "exp_avg_sq"), "reset");
}

TEST_F(SegmentTraining, UpdatesAreMeasuredWhereAnEvaluationFollowsAndChangeNothing) {
  const Outcome often = train(config(), "measured");
  SegmentConfig once = config();
  once.evaluation.steps = {0, 12};
  EXPECT_EQ(train(once, "measured_once").weights_hash, often.weights_hash);
  std::set<int64_t> steps;
  std::set<std::string> kinds;
  for (const UpdateRow& row : metrics("measured").updates) {
    steps.insert(row.step);
    kinds.insert(row.kind);
    EXPECT_GT(row.update_rms, 0) << row.kind;
    EXPECT_EQ(std::isnan(row.alignment), row.rule == "adamw") << row.kind;
  }
  EXPECT_EQ(steps, (std::set<int64_t>{4, 8, 12}));
  EXPECT_TRUE(kinds.contains("fc") && kinds.contains("self_attn.q_proj") &&
              kinds.contains("mlp.down_proj") && kinds.contains("norm"));
}

TEST_F(SegmentTraining, SpectraOfWeightsAndMeanGradientsAreMeasuredWhereTrainingEnds) {
  for (const char* optimizer : {R"({"kind": "adamw"})", R"({"kind": "muon"})"}) {
    const std::string name = std::string("spectra_") + optimizer[10];
    EXPECT_EQ(train(config(optimizer), name).kind, OutcomeKind::kDone);
    int64_t matrices = 0;
    for (const UpdateRow& row : metrics(name).updates) {
      if (row.step < 12 || row.kind.ends_with("norm")) {
        EXPECT_TRUE(row.weight_spectrum.empty() && row.momentum_spectrum.empty()) << row.kind;
        continue;
      }
      ++matrices;
      for (const auto* spectrum : {&row.weight_spectrum, &row.momentum_spectrum}) {
        ASSERT_EQ(spectrum->size(), 5u) << row.kind;
        EXPECT_TRUE(std::ranges::is_sorted(*spectrum)) << row.kind;
      }
      EXPECT_GE(row.weight_stable_rank, 1) << row.kind;
      EXPECT_GE(row.momentum_stable_rank, 1) << row.kind;
    }
    EXPECT_GT(matrices, 5);
  }
}

TEST_F(SegmentTraining, QkClipShrinksTheNormsOfQueriesAndKeysOnlyAboveItsThreshold) {
  const auto norm = [&](const char* optimizer, const std::string& name) {
    EXPECT_EQ(train(config(optimizer), name).kind, OutcomeKind::kDone);
    return read_checkpoint(SegmentFolder(root_ / "segments" / name).checkpoint(12),
                           segment_id(config(optimizer)), 12)
        .weights.at("layers.0.self_attn.q_norm.weight");
  };
  const at::Tensor plain = norm(R"({"kind": "adamw"})", "clip_off"),
                   high = norm(R"({"kind": "adamw", "qk_clip": 1e5})", "clip_high"),
                   low = norm(R"({"kind": "adamw", "qk_clip": 0.5})", "clip_low");
  EXPECT_TRUE(high.equal(plain));
  EXPECT_LT(low.max().item<float>(), plain.min().item<float>());
}

TEST_F(SegmentTraining, AChildWithoutItsParentsCheckpointIsRefusedByName) {
  SegmentConfig child = config();
  child.parent = "0123456789abcdef";
  child.from_step = 7;
  EXPECT_THAT(
      [&] { train(child, "orphan"); },
      ::testing::ThrowsMessage<Error>(::testing::HasSubstr("the parent segment 0123456789abcdef")));
}

TEST_F(SegmentTraining, ArmsOfOneSeedStartFromTheSameWeightsAndSeeTheSameData) {
  train(config(R"({"kind": "adamw"})"), "arm_adamw");
  train(config(R"({"kind": "muon"})"), "arm_muon");
  const Metrics a = metrics("arm_adamw"), b = metrics("arm_muon");
  EXPECT_EQ(a.steps[0].loss, b.steps[0].loss);
  EXPECT_EQ(a.evaluations[0].loss, b.evaluations[0].loss);
  EXPECT_NE(a.steps[1].loss, b.steps[1].loss);
  EXPECT_EQ(a.evaluations.back().data_hash, b.evaluations.back().data_hash);
  EXPECT_NE(a.evaluations.back().data_hash, a.evaluations.front().data_hash);
  for (size_t i = 0; i < a.steps.size(); ++i) EXPECT_EQ(a.steps[i].tokens, b.steps[i].tokens);
}

TEST_F(SegmentTraining, SeparateSeedsChangeSeparateThings) {
  const auto first_losses = [&](Seeds seeds, const std::string& name) {
    SegmentConfig segment = config();
    segment.seeds = seeds;
    train(segment, name);
    const Metrics rows = metrics(name);
    return std::pair(rows.evaluations[0].loss, rows.steps[0].loss);
  };
  const auto base = first_losses({1, 2, 3}, "seeds_base");
  EXPECT_NE(first_losses({9, 2, 3}, "seeds_weights").first, base.first);
  const auto data = first_losses({1, 9, 3}, "seeds_data"),
             noise = first_losses({1, 2, 9}, "seeds_noise");
  EXPECT_EQ(data.first, base.first);
  EXPECT_NE(data.second, base.second);
  EXPECT_EQ(noise.first, base.first);
  EXPECT_NE(noise.second, base.second);
}

TEST_F(SegmentTraining, AnExplodingRunEndsAsDivergedAndKeepsItsNumbers) {
  SegmentConfig segment = config(R"({"kind": "adamw", "learning_rate": 10})");
  segment.training.schedule = "constant";
  segment.training.warmup = 0;
  const Outcome outcome = train(segment, "exploding");
  EXPECT_EQ(outcome.kind, OutcomeKind::kDiverged);
  EXPECT_THAT(outcome.reason, ::testing::HasSubstr("the training loss is"));
  EXPECT_TRUE(outcome.weights_hash.empty());
  EXPECT_EQ(metrics("exploding").steps.back().step, outcome.step + 1);
  // A diverged segment never runs again: it would not find its store.
  const SegmentFolder folder(root_ / "segments/exploding");
  const SegmentTask without_store{segment_id(segment), segment, root_ / "no store", 5};
  const std::atomic<bool> stop{false};
  EXPECT_EQ(train_segment(without_store, folder.root(), stop).reason, outcome.reason);
}

TEST_F(SegmentTraining, AStepWithoutALabelIsCountedAndUpdatesNothing) {
  SegmentConfig segment = config();
  segment.drafter.draft_vocab_size = 3;
  segment.routing = route(parameter_shapes(segment.drafter), segment.optimizer, {}, "test");
  segment.training.sequences_per_step = segment.training.anchors = 1;
  const SegmentTask task{segment_id(segment), segment, root_ / "store", 5};
  make_folder(root_ / "no_label");
  Trainer trainer(task, SegmentFolder(root_ / "no_label"));
  int64_t without = 0;
  for (int64_t step = 1; step <= 12; ++step) {
    const std::string before = weights_hash(trainer.state().weights);
    const int64_t tokens = trainer.state().tokens;
    const TrainedStep trained = trainer.step(/*measured=*/true);
    ASSERT_EQ(trained.divergence, "");
    EXPECT_EQ(trainer.state().step, step);
    const bool taught = trained.row.tokens > tokens;
    without += !taught;
    EXPECT_EQ(std::isnan(trained.row.loss), !taught);
    EXPECT_EQ(trained.row.gradient_norm > 0, taught);
    EXPECT_EQ(weights_hash(trainer.state().weights) == before, !taught);
    EXPECT_EQ(trained.updates.empty(), !taught);
  }
  EXPECT_GT(without, 2);
  EXPECT_LT(without, 10);

  // The same steps whatever the optimizer and the loss; a resumed run ends as one that was not.
  const Outcome whole = train(segment, "no_label_whole");
  EXPECT_EQ(whole.kind, OutcomeKind::kDone);
  for (int life = 0; train(segment, "no_label_stopped", true).kind != OutcomeKind::kDone; ++life)
    ASSERT_LT(life, 20);
  EXPECT_EQ(
      read_outcome(SegmentFolder(root_ / "segments/no_label_stopped").outcome())->weights_hash,
      whole.weights_hash);
  SegmentConfig other = segment;
  other.optimizer = parse_optimizer_config(parse_json(R"({"kind": "adamw"})", "test"), "test");
  other.routing = route(parameter_shapes(other.drafter), other.optimizer, {}, "test");
  other.training.loss = parse_loss("dpace", "test");
  EXPECT_EQ(train(other, "no_label_other").kind, OutcomeKind::kDone);
  const Metrics a = metrics("no_label_whole"), b = metrics("no_label_other");
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(a.steps[i].tokens, b.steps[i].tokens);
}

TEST_F(SegmentTraining, ALossThatIsNoNumberEndsTheRun) {
  const SegmentConfig segment = config(R"({"kind": "adamw"})");
  train(segment, "not_a_number", true);
  Checkpoint checkpoint = checkpoint_of(segment, "not_a_number", 1);
  checkpoint.weights.at("fc.weight").fill_(std::nan(""));
  write_checkpoint(SegmentFolder(root_ / "segments/not_a_number").checkpoint(1), checkpoint);
  const Outcome outcome = train(segment, "not_a_number");
  EXPECT_EQ(outcome.kind, OutcomeKind::kDiverged);
  EXPECT_EQ(outcome.reason, "the training loss is NaN at step 2");
}

TEST_F(SegmentTraining, ADrafterThatDoesNotFitItsStoreIsRefusedByKey) {
  const auto refused = [&](auto change, const std::string& key) {
    SegmentConfig segment = config();
    change(segment.drafter);
    EXPECT_THAT([&] { train(segment, "unfit_" + key); },
                ::testing::ThrowsMessage<Error>(::testing::HasSubstr(key)));
  };
  refused([](DrafterConfig& d) { d.hidden_size += 1; }, "hidden_size is 32");
  refused([](DrafterConfig& d) { d.vocab_size += 1; }, "vocab_size is 40");
  refused([](DrafterConfig& d) { d.num_taps -= 1; }, "number of taps is 3");
  refused([](DrafterConfig& d) { d.mask_token_id -= 1; }, "mask_token_id is 39");
}

TEST_F(SegmentTraining, AnotherStoreThanThePlannedOneIsRefused) {
  SegmentConfig segment = config();
  segment.store = "another";
  EXPECT_THAT([&] { train(segment, "other_store"); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("store")));
}

TEST_F(SegmentTraining, ADeviceThatIsNotThereIsRefusedWithAdvice) {
  if (at::hasCUDA()) GTEST_SKIP();
  SegmentConfig segment = config();
  segment.training.device = "cuda";
  EXPECT_THAT(
      [&] { train(segment, "cuda"); },
      ::testing::ThrowsMessage<Error>(::testing::HasSubstr("has no CUDA device; build with")));
}

TEST_F(SegmentTraining, ThreadsOfTheProcessDoNotMatterOnlyThoseOfThePlan) {
  const Outcome first = train(config(), "threads_1");
  EXPECT_EQ(at::get_num_threads(), 1);
  SegmentConfig two = config();
  two.training.threads = 2;
  train(two, "threads_2");
  EXPECT_EQ(at::get_num_threads(), 2);
  EXPECT_EQ(train(config(), "threads_1_again").weights_hash, first.weights_hash);
  EXPECT_EQ(at::get_num_threads(), 1);
}

}  // namespace
}  // namespace draftlab
