#include "fuzz/targets.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "record/events.h"
#include "record/lives.h"
#include "record/metrics.h"
#include "record/outcome.h"
#include "record/plan.h"
#include "record/timing.h"
#include "reports/tables/study_record.h"
#include "reports/text/csv_table.h"
#include "runner/planner.h"
#include "runner/sweep.h"
#include "store/manifest.h"
#include "store/prompts.h"
#include "store/safetensors.h"
#include "store/specification.h"
#include "target_model/checkpoint.h"
#include "target_model/tokenizer.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

// Of this process, in memory where the system has such a place.
const fs::path& scratch() {
  static const fs::path folder = [] {
    const fs::path shared = "/dev/shm";
    const fs::path root = fs::is_directory(shared) ? shared : fs::temp_directory_path();
    const fs::path own = root / ("draftlab-fuzz-" + std::to_string(::getpid()));
    fs::create_directories(own);
    return own;
  }();
  return folder;
}

fs::path written(std::string_view bytes, const char* name = "file") {
  const fs::path file = scratch() / name;
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

void read_a_sweep(std::string_view bytes) {
  const Sweep sweep = parse_sweep(parse_json(bytes, "sweep.json"), "/nowhere/sweep.json");
  size_t points = 0;
  for (const SweepArm& arm : sweep.arms) points += arm.points.size();
  if (points * sweep.seeds.size() > 50) return;  // a large plan is no fault, only slow
  PlannedStore store{"/nowhere/store", sweep.content.at("store"), "hash", {}};
  store.facts.hidden_size = 32;
  store.facts.vocab_size = 128;
  store.facts.taps = {0, 1, 3};
  store.facts.records = 40;
  make_plan(sweep, store);
}

void read_a_plan(std::string_view bytes) {
  written(bytes, "plan.json");
  read_plan(RunFolder(scratch()));
}

void read_a_store_specification(std::string_view bytes) {
  parse_store_specification(parse_json(bytes, "store.json"), "store.json", "/nowhere");
}

void read_a_manifest(std::string_view bytes) {
  const StoreManifest manifest =
      manifest_from_json(parse_json(bytes, "manifest.json"), "manifest.json");
  manifest.facts();
  manifest.hash();
}

void read_prompt_lines(std::string_view bytes) {
  read_prompts({.file = written(bytes), .count = 0, .tokens = 16, .seed = 1});
}

void read_metric_lines(std::string_view bytes) { read_metrics(written(bytes)); }
void read_a_segments_baselines(std::string_view bytes) { read_baselines(written(bytes)); }
void read_event_lines(std::string_view bytes) { read_events(written(bytes)); }
void read_an_outcome(std::string_view bytes) { read_outcome(written(bytes), "0123456789abcdef"); }
void read_provenance(std::string_view bytes) { contributing(read_lives(written(bytes))); }
void read_times(std::string_view bytes) { read_timing(written(bytes)); }

void read_a_table(std::string_view bytes) {
  const CsvTable table(bytes, "table.csv");
  for (size_t row = 0; row < table.rows(); ++row) {
    for (const std::string& column : table.columns()) table.at(row, column).number_if_any();
  }
}

void read_an_exported_study(std::string_view bytes) {
  const Study study = read_study_record(parse_json(bytes, "study.json"), "study.json");
  read_study_record(parse_json(study_record(study), "again"), "again");
}

void read_safetensors(std::string_view bytes) {
  const SafetensorsFile file(written(bytes));
  safetensors_bytes(file.tensors(), file.metadata());
}

void read_gguf(std::string_view bytes) {
  const fs::path path = written(bytes);
  const GgufFile file(path);
  for (const auto& [name, tensor] : file.tensors()) {
    if (tensor.bytes.empty() || tensor.count() > 4096) continue;
    std::vector<float> values(tensor.count());
    dequantise(tensor, name, values.data());
  }
  open_gguf(path);
}

void read_a_tokenizer(std::string_view bytes) {
  const Tokenizer tokenizer(GgufFile(written(bytes)));
  const std::vector<int32_t> ids = tokenizer.encode("Once upon a time, 1 + 1 = 2\n");
  tokenizer.decode(ids);
}

// The first byte says which file of the model's folder the others are; the rest are small and
// right.
void read_a_huggingface_folder(std::string_view bytes) {
  constexpr std::array kNames = {"config.json",           "generation_config.json",
                                 "tokenizer_config.json", "special_tokens_map.json",
                                 "tokenizer.json",        "model.safetensors.index.json"};
  constexpr std::string_view kConfig =
      R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 2,
          "intermediate_size": 8, "vocab_size": 16, "max_position_embeddings": 32,
          "tie_word_embeddings": true, "eos_token_id": 2})";
  if (bytes.empty()) return;
  const fs::path folder = scratch() / "model";
  fs::remove_all(folder);
  fs::create_directory(folder);
  std::ofstream(folder / "config.json") << kConfig;
  const size_t which = static_cast<uint8_t>(bytes[0]) % kNames.size();
  if (kNames[which] != kNames.back())
    std::ofstream(folder / "model.safetensors", std::ios::binary) << safetensors_bytes({}, {});
  std::ofstream(folder / kNames[which], std::ios::binary) << bytes.substr(1);
  TargetCheckpoint target = open_huggingface(folder);
  target.weights->require("model.embed_tokens.weight", {16, 8});
}

}  // namespace

const std::vector<FuzzTarget>& fuzz_targets() {
  static const std::vector<FuzzTarget> targets = {
      {"sweep", read_a_sweep},
      {"plan", read_a_plan},
      {"store_specification", read_a_store_specification},
      {"manifest", read_a_manifest},
      {"prompts", read_prompt_lines},
      {"metrics", read_metric_lines},
      {"baselines", read_a_segments_baselines},
      {"events", read_event_lines},
      {"outcome", read_an_outcome},
      {"provenance", read_provenance},
      {"timing", read_times},
      {"table", read_a_table},
      {"study", read_an_exported_study},
      {"safetensors", read_safetensors},
      {"gguf", read_gguf},
      {"tokenizer", read_a_tokenizer},
      {"huggingface", read_a_huggingface_folder}};
  return targets;
}

void run_fuzz_target(const FuzzTarget& target, std::string_view bytes) {
  try {
    target.read(bytes);
  } catch (const Error&) {
  }
}

}  // namespace draftlab
