#include "record/segment.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "record/plan.h"
#include "testing/every_field.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

const char* const kDrafter =
    R"({"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4,
  "num_key_value_heads": 2, "head_dim": 8, "layer_types": ["full_attention", "sliding_attention"],
  "sliding_window": 6, "block_size": 4, "vocab_size": 64})";

SegmentConfig example() {
  SegmentConfig config;
  config.drafter = parse_drafter_config(parse_json(kDrafter, "s.json"), "s.json: drafter", 0, 3);
  config.training = parse_training(parse_json(R"({"steps": 100})", "s.json"), "s.json: training");
  config.evaluation =
      parse_evaluation(parse_json(R"({"every": 30})", "s.json"), "s.json: evaluation", 100);
  config.split =
      parse_split(parse_json(R"({"train": 10, "held_out": 2})", "s.json"), "s.json: split");
  config.optimizer =
      parse_optimizer_config(parse_json(R"({"kind": "muon"})", "s.json"), "s.json: arms[0]");
  config.routing = route(parameter_shapes(config.drafter), config.optimizer, {}, "s.json: arms[0]");
  config.seeds = {1, 2, 3};
  config.store = "abc";
  config.to_step = 100;
  return config;
}

TEST(Segment, CountsSequencesAndEpochsOfItsSteps) {
  SegmentConfig config = example();  // 4 sequences a step, 10 to train on
  EXPECT_EQ(sequences_after(config, 25), 100);
  EXPECT_EQ(epochs_after(config, 25), 10);
  EXPECT_EQ(epochs_after(config, INFINITY), INFINITY);
}

TEST(Segment, ReadsBackWithTheSameId) {
  const SegmentConfig config = example();
  const Json text = parse_json(canonical(to_json(config)), "x");
  EXPECT_EQ(segment_id(segment_from_json(text, "x")), segment_id(config));
}

// All fields of all structures in it, options of the optimizer and rows of the table included.
TEST(Segment, EveryFieldChangesTheId) {
  SegmentConfig config = example();
  config.parent = "p";
  config.from_step = 5;
  config.split.tuning = 3;
  const std::string id = segment_id(config);
  const size_t count = every_field(config).size();
  EXPECT_GT(count, 50u);
  for (size_t i = 0; i < count; ++i) {
    SegmentConfig changed = config;
    const Field field = every_field(changed)[i];
    change(field);
    EXPECT_NE(segment_id(changed), id) << "field " << field.path;
  }
}

TEST(Segment, EveryFieldReadsBackAlsoWhereItIsNotTheDefault) {
  SegmentConfig config = example();
  config.drafter.rms_norm_eps = 2e-6;
  config.drafter.rope_theta = 5e5;
  config.drafter.initializer_range = 0.03;
  config.drafter.draft_vocab_size = 50;
  config.drafter.mask_token_id = 63;
  config.training = {
      100,      3,      7, "constant",
      0.1,      0.5,    4, parse_loss(JsonObject{{"kl", 0.5}, {"normalize", "labels"}}, "test"),
      "argmax", "cuda", 2};
  config.evaluation.stride = 3;
  config.split = {10, 4, 2, "group"};
  config.parent = "p";
  config.start = {"reset", 5, 6};
  config.from_step = 9;
  config.to_step = 99;
  for (const auto& [mine, other] :
       {std::pair(field_texts(config.training), field_texts(TrainingConfig())),
        std::pair(field_texts(config.evaluation), field_texts(EvaluationConfig())),
        std::pair(field_texts(config.split), field_texts(SplitConfig())),
        std::pair(field_texts(config.start), field_texts(StartConfig()))}) {
    for (const std::string& text : other) EXPECT_THAT(mine, Not(Contains(text)));
  }
  const Json json = parse_json(canonical(to_json(config)), "x");
  EXPECT_EQ(field_texts(segment_from_json(json, "x")), field_texts(config));
}

TEST(Segment, ATaskWhoseConfigurationWasEditedIsRefused) {
  const fs::path file =
      fs::temp_directory_path() / ("draftlab_segment_test_" + std::to_string(::getpid()));
  write_task(file, {segment_id(example()), example(), "/store", 10});
  EXPECT_EQ(read_task(file).config.to_step, 100);
  std::string text = read_file(file);
  text.replace(text.find("\"gamma\": 0"), 10, "\"gamma\": 7");
  replace_file(file, text);
  EXPECT_THAT([&] { read_task(file); }, ThrowsMessage<Error>(HasSubstr("this file was edited")));
  fs::remove(file);
}

TEST(Segment, ImpossibleStepsAndSharesAreErrorsThatNameTheKey) {
  SegmentConfig config = example();
  config.parent = "p";
  config.from_step = 20;
  const auto refused = [&](auto change, const std::string& reason) {
    SegmentConfig changed = config;
    change(changed);
    const Json json = parse_json(canonical(to_json(changed)), "x");
    if (reason.empty()) {
      EXPECT_NO_THROW(segment_from_json(json, "x"));
    } else {
      EXPECT_THAT([&] { segment_from_json(json, "x"); }, ThrowsMessage<Error>(HasSubstr(reason)));
    }
  };
  refused([](auto& c) { c.to_step = 21; }, "");
  refused([](auto& c) { c.to_step = 20; }, "to_step: must lie between 21 and 100, is 20");
  refused([](auto& c) { c.to_step = 101; }, "to_step: must lie between 21 and 100, is 101");
  refused([](auto& c) { c.start.schedule_from = 20; }, "");
  refused([](auto& c) { c.start.schedule_from = 21; }, "start.schedule_from: must lie between");
  refused([](auto& c) { c.training.warmup = 1; }, "");
  refused([](auto& c) { c.training.warmup = 1.01; }, "training.warmup: must lie between 0 and 1");
  refused([](auto& c) { c.training.clip = -0.1; }, "training.clip: must be at least 0");
  refused([](auto& c) { c.training.threads = 0; }, "training.threads: must lie between");
  refused([](auto& c) { c.split.held_out = 0; }, "split.held_out: must be at least 1");
  refused([](auto& c) { c.split.by = "prompt"; }, "split.by: ");
}

TEST(Segment, EvaluationStepsAlwaysHoldTheFirstAndTheLast) {
  const auto steps = [](const char* text) {
    return parse_evaluation(parse_json(text, "x"), "x", 100).steps;
  };
  EXPECT_THAT(steps(R"({"every": 30})"), ::testing::ElementsAre(0, 30, 60, 90, 100));
  EXPECT_THAT(steps(R"({"at": [50, 10, 50]})"), ::testing::ElementsAre(0, 10, 50, 100));
  EXPECT_THAT([&] { steps(R"({"at": [101]})"); },
              ThrowsMessage<Error>(HasSubstr("x: at: must lie between 0 and 100")));
  EXPECT_THAT([&] { steps(R"({"at": [1], "every": 2})"); },
              ThrowsMessage<Error>(HasSubstr("give either")));
}

TEST(DrafterConfig, CountsThePublishedParametersOfTheQwen27BDrafter) {
  DrafterConfig config{
      .hidden_size = 5120,
      .intermediate_size = 17408,
      .layer_types = std::vector<std::string>(5, "full_attention"),
      .layer_options = {{"num_attention_heads", 32}, {"num_key_value_heads", 8}, {"head_dim", 128}},
      .num_taps = 5};
  int64_t count = 0;
  for (const auto& parameter : parameter_shapes(config)) count += parameter.count();
  EXPECT_EQ(count, 1730213120);
}

TEST(DrafterConfig, ImpossibleValuesAreErrorsThatNameTheKey) {
  const auto parse = [](const char* key, Json value) {
    Json drafter = parse_json(kDrafter, "s.json");
    drafter.as_object()[key] = std::move(value);
    return parse_drafter_config(drafter, "s.json: drafter", 0, 3);
  };
  const auto refuses = [&](const char* key, Json value, const char* text) {
    EXPECT_THAT([&] { parse(key, value); }, ThrowsMessage<Error>(HasSubstr(text))) << key;
  };
  refuses("num_key_value_heads", 3, "s.json: drafter.num_key_value_heads: must divide");
  refuses("head_dim", 7, "must be even");
  refuses("block_size", 1, "must be at least 2, is 1");
  refuses("layer_types", JsonArray{"sliding"}, "layer_types[0]: 'sliding' is not known");
  refuses("layer_types", JsonArray{"full_attention"}, "no layer slides");
  refuses("draft_vocab_size", 65, "must lie between 2 and 64");
  refuses("hidden", 3, "did you mean 'hidden_size'?");
}

TEST(Plan, ReadsBackWhatWasWrittenAndRefusesAnEditedSegment) {
  const RunFolder folder(fs::temp_directory_path() /
                         ("draftlab_plan_test_" + std::to_string(::getpid())));
  fs::create_directory(folder.root());
  PlanRecord plan{.name = "</script>",
                  .sweep_file = "s.json",
                  .sweep = JsonObject{},
                  .store = JsonObject{},
                  .store_folder = "/store",
                  .store_hash = "abc",
                  .target = {"val_loss", 5.5},
                  .checkpoint_every = 7,
                  .notices = {"a", "b"}};
  plan.segments.push_back({segment_id(example()), example()});
  plan.runs.push_back(
      {"muon seed=1", "muon", "", example().optimizer, {1, 2, 3}, {segment_id(example())}});
  write_plan(folder.plan(), plan);
  const PlanRecord read = read_plan(folder);
  EXPECT_EQ(field_texts(read), field_texts(plan));
  std::string text = read_file(folder.plan());
  text.replace(text.find("\"gamma\": 0"), 10, "\"gamma\": 7");
  replace_file(folder.plan(), text);
  EXPECT_THAT([&] { read_plan(folder); },
              ThrowsMessage<Error>(HasSubstr("segments[0].id: does not fit")));
  fs::remove_all(folder.root());
}

TEST(Plan, KeepsTheFactsOfItsStoreAndReadsOneOfAnOlderVersionWithout) {
  const RunFolder folder(fs::temp_directory_path() /
                         ("draftlab_plan_facts_test_" + std::to_string(::getpid())));
  fs::create_directory(folder.root());
  PlanRecord plan{.name = "s", .sweep = JsonObject{}, .store = JsonObject{}};
  plan.store_facts = StoreFacts{.target_name = "SmolLM2-135M-Instruct",
                                .target_architecture = "llama",
                                .target_sha256 = "ab",
                                .tokenizer_sha256 = "cd",
                                .responses = "greedy",
                                .taps = {1, 14, 27},
                                .mask_token_id = 17,
                                .target_layers = 30,
                                .hidden_size = 576,
                                .vocab_size = 49152,
                                .records = 240,
                                .tokens = 30000,
                                .response_tokens = 20000,
                                .looped_share = 0.02};
  write_plan(folder.plan(), plan);
  EXPECT_EQ(read_plan(folder).store_facts, plan.store_facts);
  // What is not known stays so.
  plan.store_facts->vocab_size = plan.store_facts->records = std::nullopt;
  write_plan(folder.plan(), plan);
  EXPECT_EQ(read_plan(folder).store_facts, plan.store_facts);
  Json old = read_json(folder.plan());
  old.as_object().erase("store_facts");
  old.as_object()["schema"] = 3;
  replace_file(folder.plan(), pretty(old));
  EXPECT_EQ(read_plan(folder).store_facts, std::nullopt);
  old.as_object()["schema"] = 5;
  replace_file(folder.plan(), pretty(old));
  EXPECT_THAT(
      [&] { read_plan(folder); },
      ThrowsMessage<Error>(HasSubstr("schema: is 5, and this version of draftlab reads 4")));
  fs::remove_all(folder.root());
}

TEST(Plan, GrowsByPhasesThatReadBackWithWhatDecided) {
  const RunFolder folder(fs::temp_directory_path() /
                         ("draftlab_phase_test_" + std::to_string(::getpid())));
  fs::create_directory(folder.root());
  PlanRecord plan{.name = "s", .sweep = JsonObject{}, .store = JsonObject{}};
  plan.segments.push_back({segment_id(example()), example()});
  plan.runs.push_back({"muon seed=1",
                       "muon",
                       "",
                       example().optimizer,
                       example().seeds,
                       {segment_id(example())},
                       kTrial});
  write_plan(folder.plan(), plan);
  SegmentConfig fresh = example();
  fresh.seeds = {7, 7, 7};
  PlanRecord phase;
  phase.segments = {plan.segments[0], {segment_id(fresh), fresh}};
  phase.runs = {
      {"muon seed=7", "muon", "", fresh.optimizer, fresh.seeds, {segment_id(fresh)}, kFinal}};
  phase.decisions = {{"muon", "val_loss", {{"", 0, 1, NAN}, {"lr=1", 2, 0, 0.1}}, "lr=1", "lr=2"}};
  write_next_phase(folder, phase, plan);
  EXPECT_EQ(plan.phases, 2);
  const PlanRecord read = read_plan(folder);
  EXPECT_EQ(canonical(to_json(read)), canonical(to_json(plan)));
  EXPECT_EQ(field_texts(read.runs), field_texts(plan.runs));
  EXPECT_EQ(field_texts(read.decisions), field_texts(plan.decisions));
  EXPECT_EQ(read.phases, 2);
  EXPECT_EQ(read.segments.size(), 2u);  // the shared one once
  EXPECT_EQ(read.runs[1].phase, kFinal);
  EXPECT_TRUE(std::isnan(read.decisions[0].trials[0].mean));
  EXPECT_EQ(read.decisions[0].trials[1].mean, 0.1);
  EXPECT_EQ(read.decisions[0].extended, "lr=2");
  EXPECT_EQ(read_first_phase(folder).runs.size(), 1u);
  fs::remove_all(folder.root());
}

}  // namespace
}  // namespace draftlab
