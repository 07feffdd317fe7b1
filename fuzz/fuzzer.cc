// One target under libFuzzer, which has its own main: scripts/fuzz names it in DRAFTLAB_FUZZ.
#include <cstdlib>
#include <iostream>

#include "fuzz/targets.h"

namespace {

const draftlab::FuzzTarget* target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* name = std::getenv("DRAFTLAB_FUZZ");
  for (const draftlab::FuzzTarget& each : draftlab::fuzz_targets()) {
    if (name != nullptr && each.name == name) target = &each;
  }
  if (target != nullptr) return 0;
  std::cerr << "DRAFTLAB_FUZZ must name a target:";
  for (const draftlab::FuzzTarget& each : draftlab::fuzz_targets()) std::cerr << " " << each.name;
  std::cerr << std::endl;
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  draftlab::run_fuzz_target(*target, {reinterpret_cast<const char*>(data), size});
  return 0;
}
