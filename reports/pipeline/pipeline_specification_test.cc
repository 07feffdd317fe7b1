#include "reports/pipeline/pipeline_specification.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "base/error.h"
#include "source_dir.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] = R"({
  "name": "both kinds",
  "producers": [{"count": 2, "rate": 0.1, "times": "lognormal", "cv": 0.4}, {"rate": 0.05}],
  "queue": {"capacity": 8, "bytes_per_batch": 1e9},
  "consumers": {"count": 2, "times": "exponential"},
  "training": {"batches_per_epoch": 1000, "epochs": 2.5},
  "hidden_states": ["cached", "online"],
  "store": {"rate": 3, "stored": 100, "freed_producers": "train"},
  "optimizers": [
    {"name": "AdamW", "step_seconds": 3, "batches_to_target": 2000},
    {"name": "Muon", "step_seconds": 4, "update_seconds": 1,
     "batches_to_target": {"low": 1000, "high": 1800}}],
  "simulation": {"seed": 7, "batches": 2000, "windows": 40}})";

TEST(PipelineSpec, IsReadWhole) {
  const PipelineSpec spec = parse_pipeline_spec(parse_json(kText, "p.json"), "p.json");
  EXPECT_EQ(spec.name, "both kinds");
  ASSERT_EQ(spec.producers.size(), 2u);
  EXPECT_EQ(spec.producers[0], (ProducerGroup{2, 0.1, {ServiceTimes::kLognormal, 0.4}}));
  EXPECT_EQ(spec.producers[1], (ProducerGroup{1, 0.05, {}}));
  EXPECT_EQ(spec.queue_capacity, 8);
  EXPECT_EQ(spec.bytes_per_batch, 1e9);
  EXPECT_EQ(spec.step_times.kind, ServiceTimes::kExponential);
  EXPECT_EQ(spec.batches_left(), 2500);
  EXPECT_EQ(spec.optimizers[1].update_seconds, 1);
  EXPECT_EQ(spec.optimizers[0].batches_to_target.high, 2000);
  EXPECT_EQ(spec.optimizers[1].batches_to_target.value, 1400);  // the middle
  EXPECT_THAT(spec.hidden_states,
              ::testing::ElementsAre(HiddenStates::kCached, HiddenStates::kOnline));
  EXPECT_EQ(spec.store.stored, 100);
  EXPECT_TRUE(spec.store.freed_producers_train);
  EXPECT_THAT(spec.topologies, ::testing::ElementsAre(PipelineTopology{3, 2}));
  EXPECT_EQ(spec.simulation.seed, 7u);
  EXPECT_EQ(spec.simulation.windows, 40);
}

TEST(PipelineSpec, AnIntervalMayBeEndlessAroundAValue) {
  Json json = parse_json(kText, "p.json");
  json.at("optimizers").at(0).as_object()["batches_to_target"] = {
      {"low", 10}, {"value", 20}, {"high", "Infinity"}};
  const PipelineInterval batches =
      parse_pipeline_spec(json, "p.json").optimizers[0].batches_to_target;
  EXPECT_EQ(batches.value, 20);
  EXPECT_TRUE(std::isinf(batches.high));
}

TEST(PipelineSpec, TheStoryIsOneAndListsThePipelineAsItIsFirst) {
  const PipelineSpec spec = read_pipeline_spec(DRAFTLAB_SOURCE_DIR "/sweeps/pipeline_story.json");
  EXPECT_THAT(spec.topologies,
              ::testing::ElementsAre(PipelineTopology{3, 1}, PipelineTopology{2, 2},
                                     PipelineTopology{1, 3}));
  EXPECT_EQ(spec.batches_left(), 0.24 * 8 * 86400);
}

// Each mistake is named by file and key.
TEST(PipelineSpec, RefusesMistakes) {
  const auto producer = [](JsonObject& s) -> JsonObject& {
    return s["producers"].at(0).as_object();
  };
  const auto part = [](JsonObject& s, const char* key) -> JsonObject& {
    return s[key].as_object();
  };
  const auto muon = [](JsonObject& s) -> JsonObject& { return s["optimizers"].at(1).as_object(); };
  const struct {
    const char* says;
    std::function<void(JsonObject&)> mistake;
  } cases[] = {
      {"producer: is not a known key; did you mean", [](auto& s) { s["producer"] = 1; }},
      {"producers[0].rates: is not a known key", [&](auto& s) { producer(s)["rates"] = 1; }},
      {"producers[0].rate: must be above 0, is 0", [&](auto& s) { producer(s)["rate"] = 0; }},
      {"producers[0].rate: must be above 0, is -1", [&](auto& s) { producer(s)["rate"] = -1; }},
      {"producers[0].rate: must be above 0, is NaN", [&](auto& s) { producer(s)["rate"] = "NaN"; }},
      {"producers[0].rate: must lie between", [&](auto& s) { producer(s)["rate"] = "Infinity"; }},
      {"producers[0].rate: must be a number", [&](auto& s) { producer(s)["rate"] = "fast"; }},
      {"producers[0].rate: is missing", [&](auto& s) { producer(s).erase("rate"); }},
      {"producers[0].count: must lie between", [&](auto& s) { producer(s)["count"] = 0; }},
      {"producers[0].count: must be a whole", [&](auto& s) { producer(s)["count"] = 1.5; }},
      {"producers[0].cv: is missing", [&](auto& s) { producer(s).erase("cv"); }},
      {"producers[0].cv: must be above 0", [&](auto& s) { producer(s)["cv"] = 0; }},
      {"producers[0].cv: goes with", [&](auto& s) { producer(s)["times"] = "fixed"; }},
      {"producers[0].times: 'normal' is not known",
       [&](auto& s) { producer(s)["times"] = "normal"; }},
      {"producers: is an empty list", [](auto& s) { s["producers"] = JsonArray{}; }},
      {"queue.capacity: must lie between", [&](auto& s) { part(s, "queue")["capacity"] = 0; }},
      {"queue.capacity: is missing", [&](auto& s) { part(s, "queue").erase("capacity"); }},
      {"queue.bytes_per_batch: must be above 0",
       [&](auto& s) { part(s, "queue")["bytes_per_batch"] = -5; }},
      {"consumers.count: must lie between", [&](auto& s) { part(s, "consumers")["count"] = 0; }},
      {"training.epochs: must be above 0", [&](auto& s) { part(s, "training")["epochs"] = 0; }},
      {"training.batches_per_epoch: is missing",
       [&](auto& s) { part(s, "training").erase("batches_per_epoch"); }},
      {"optimizers: is an empty list", [](auto& s) { s["optimizers"] = JsonArray{}; }},
      {"optimizers[1].name: 'AdamW' is the name", [&](auto& s) { muon(s)["name"] = "AdamW"; }},
      {"optimizers[1].step_seconds: must be above 0",
       [&](auto& s) { muon(s)["step_seconds"] = 0; }},
      {"optimizers[1].update_seconds: must lie between 0 and 4",
       [&](auto& s) { muon(s)["update_seconds"] = 5; }},
      {"optimizers[1].batches_to_target: must be above 0",
       [&](auto& s) { muon(s)["batches_to_target"] = 0; }},
      {"optimizers[1].batches_to_target: must have low <= value <= high",
       [&](auto& s) {
         muon(s)["batches_to_target"] = {{"low", 3}, {"high", 2}};
       }},
      {"optimizers[1].batches_to_target: must have low <= value <= high",
       [&](auto& s) {
         muon(s)["batches_to_target"] = {{"low", 3}, {"value", 2}, {"high", 5}};
       }},
      {"optimizers[1].batches_to_target.high: must be above 0, is NaN",
       [&](auto& s) {
         muon(s)["batches_to_target"] = {{"low", 3}, {"high", "NaN"}};
       }},
      {"optimizers[1].batches_to_target.value: is missing",
       [&](auto& s) {
         muon(s)["batches_to_target"] = {{"low", 3}, {"high", "Infinity"}};
       }},
      {"hidden_states[1]: 'disk' is not known",
       [](auto& s) {
         s["hidden_states"] = JsonArray{"online", "disk"};
       }},
      {"hidden_states[1]: 'online' is given twice",
       [](auto& s) {
         s["hidden_states"] = JsonArray{"online", "online"};
       }},
      {"store: is used with \"cached\" alone",
       [](auto& s) { s["hidden_states"] = JsonArray{"online"}; }},
      {"store: is missing", [](auto& s) { s.erase("store"); }},
      {"store.stored: must lie between", [&](auto& s) { part(s, "store")["stored"] = 1001; }},
      {"topologies: need producers of one kind",
       [](auto& s) {
         s["topologies"] = JsonArray{JsonArray{2, 2}};
       }},
      {"topologies[0]: must be a pair",
       [](auto& s) {
         s["topologies"] = JsonArray{JsonArray{2, 2, 2}};
       }},
      {"topologies[0][1]: must lie between",
       [](auto& s) {
         s["topologies"] = JsonArray{JsonArray{4, 0}};
       }},
      {"simulation.windows: must lie between",
       [&](auto& s) { part(s, "simulation")["windows"] = 1000; }},
      {"simulation.batches: must lie between",
       [&](auto& s) { part(s, "simulation")["batches"] = 10; }},
  };
  for (const auto& each : cases) {
    Json json = parse_json(kText, "p.json");
    each.mistake(json.as_object());
    try {
      parse_pipeline_spec(json, "p.json");
      ADD_FAILURE() << "accepted, but should say: " << each.says;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("p.json: " + std::string(each.says)));
    }
  }
}

}  // namespace
}  // namespace draftlab
