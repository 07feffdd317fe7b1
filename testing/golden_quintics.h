#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "kernels/quintic.h"
#include "source_dir.h"

namespace draftlab {

// A chain of tests/golden/coeffs.json, from its `section` ("tables", "generated"): published
// coefficients that are no table of ours.
inline std::vector<Quintic> golden_quintics(const char* section, const char* key) {
  static const Json file = read_json(DRAFTLAB_SOURCE_DIR "/tests/golden/coeffs.json");
  std::vector<Quintic> table;
  for (const Json& triple : file.at(section).at(key).as_array()) {
    const auto number = [&](size_t i) { return json_number(triple.as_array()[i], key); };
    table.push_back({number(0), number(1), number(2)});
  }
  return table;
}

// Polar Express with 2 % safety, as modded-nanogpt, dion and nanochat have it: five triples.
inline std::vector<Quintic> polar_express_of_nanogpt() {
  return golden_quintics("tables", "pe5_modded_1.02");
}
// With 1 % safety, as in its authors' repository: ten triples.
inline std::vector<Quintic> polar_express_of_its_authors() {
  return golden_quintics("generated", "pe(l=1e-3,iters=10,safety=1e-2,cushion=0.02) official repo");
}
// The earlier table of flash-newton-schulz, whose sign is wrong: for comparison only.
inline std::vector<Quintic> flipping_aol() { return golden_quintics("tables", "aol4_old"); }

}  // namespace draftlab
