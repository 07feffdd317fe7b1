#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "runner/planner.h"
#include "runner/sweep.h"

namespace draftlab {

// A small sweep for the tests of this room, and what they share.

inline constexpr char kExampleSweep[] = R"({
  "name": "example",
  "store": {"folder": "store"},
  "drafter": {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2, "head_dim": 8,
              "layer_types": ["full_attention"], "block_size": 4, "vocab_size": 64},
  "training": {"steps": 100, "sequences_per_step": 2, "anchors": 4},
  "evaluation": {"every": 50},
  "split": {"train": 8, "held_out": 2},
  "seeds": [1],
  "arms": [{"name": "adamw", "optimizer": {"kind": "adamw"}}]
})";

// The place in `value` at "/arms/0/name"; added where it is not there.
inline Json& at_pointer(Json& value, const std::string& pointer) {
  Json* here = &value;
  std::istringstream parts(pointer.substr(1));
  for (std::string key; std::getline(parts, key, '/');) {
    if (auto* list = here->if_array()) {
      const size_t index = std::stoul(key);
      if (index == list->size()) list->emplace_back(nullptr);
      here = &list->at(index);
    } else {
      here = &here->as_object()[key];
    }
  }
  return *here;
}

// The example with values replaced or added: where, and what as JSON text.
inline Json example_with(const std::vector<std::pair<std::string, std::string>>& changes) {
  Json sweep = parse_json(kExampleSweep, "example");
  for (const auto& [pointer, text] : changes)
    at_pointer(sweep, pointer) = parse_json(text, "change");
  return sweep;
}

inline Sweep example_sweep(const std::vector<std::pair<std::string, std::string>>& changes = {}) {
  return parse_sweep(example_with(changes), "/sweeps/example.json");
}

inline PlannedStore example_store() {
  PlannedStore store;
  store.folder = "/sweeps/store";
  store.specification = JsonObject{{"folder", "store"}};
  store.hash = "0123";
  store.facts.taps = {0, 1};
  store.facts.hidden_size = 16;
  store.facts.vocab_size = 64;
  store.facts.records = 10;
  return store;
}

inline PlanRecord example_plan(
    const std::vector<std::pair<std::string, std::string>>& changes = {}) {
  return make_plan(example_sweep(changes), example_store());
}

inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

// A folder that is removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "draftlab-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error(name, "cannot make a folder");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace draftlab
