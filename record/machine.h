#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace draftlab {

// What of a computer, and of how it is used, decides how long a step takes.
struct Machine {
  std::string vector_instructions;  // what each library chose, as provenance.json tells
  std::string device;               // "cpu" or "cuda"
  std::string cpu;                  // model
  int64_t cores = 0, threads = 0;   // of the computer; of one worker
  bool operator==(const Machine&) const = default;
};

JsonObject to_json(const Machine& machine);

// Takes the keys of to_json() out of an object that may hold more.
Machine read_machine(Fields& fields);

}  // namespace draftlab
