#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/machine.h"

namespace draftlab {

// One life of a segment: where and with which program its steps were computed, from one step on. A
// segment that was stopped and went on has one for each sitting.
struct Life {
  std::string host;        // "" in folders of older versions
  int64_t first_step = 0;  // steps that were done when it began
  Machine machine;
  JsonObject
      build;  // flat: version, commit, compiler, libraries; "commit" of an old folder may lack
  bool operator==(const Life&) const = default;
};

JsonObject to_json(const Life& life);
// Also of an object as older versions wrote it. Throws Error naming the key.
Life life_from_json(const Json& value, const std::string& where);

// How the running program was built, without the libraries that only a worker knows: "commit" etc.
JsonObject this_build();
// True if `life` was lived by the running program, as far as this_build() tells.
bool is_of_this_build(const Life& life);

// provenance.json of a segment: all lives, oldest first. Adding one replaces the file as a whole.
// Throws Error naming the file where it is there and cannot be read.
void add_life(const std::filesystem::path& file, const Life& life);
// None if the file is not there. A file of an older version, which knew the last life alone, is one
// life from step 0.
std::vector<Life> read_lives(const std::filesystem::path& file);

// Those of the lives whose steps are in the result: a later life that began no later has done them
// again.
std::vector<Life> contributing(const std::vector<Life>& lives);

}  // namespace draftlab
