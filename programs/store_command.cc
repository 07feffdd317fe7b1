#include <iostream>

#include "base/nearest_name.h"
#include "base/number_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "programs/worker_program.h"
#include "store/describe.h"
#include "store/manifest.h"
#include "store/specification.h"
#include "store/verify.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

constexpr char kHelp[] =
    "usage: draftlab store build SPEC.json --out DIR\n"
    "       draftlab store show DIR\n"
    "       draftlab store verify DIR\n\n"
    "A store holds a target's responses to prompts and the hidden states that drafters are trained "
    "from.\n"
    "`draftlab run` builds the store of its sweep by itself; build one here to share it between "
    "sweeps.\n\n"
    "  draftlab store build sweeps/stores/smollm2_240.json --out stores/smollm2_240\n"
    "  draftlab run sweeps/quick.json --out runs/quick --store stores/smollm2_240\n"
    "  draftlab store verify stores/smollm2_240\n";

constexpr char kBuildHelp[] =
    "usage: draftlab store build SPEC.json --out DIR\n\n"
    "Builds a store; of a killed build, the rest. A folder with another specification's store is "
    "refused.\n\n"
    "  draftlab store build sweeps/stores/smollm2_240.json --out stores/smollm2_240\n";

constexpr char kShowHelp[] =
    "usage: draftlab store show DIR\n\n"
    "What a store was made from and what it holds.\n\n"
    "  draftlab store show runs/quick/store\n";

constexpr char kVerifyHelp[] =
    "usage: draftlab store verify DIR\n\n"
    "Reads every byte and names each fault by shard and record: flipped bytes, truncated or "
    "swapped files,\n"
    "NaN. Ends with status 1 if there is one.\n\n"
    "  draftlab store verify runs/quick/store\n";

int build(const Words& words) {
  CommandLine line(kBuildHelp);
  line.argument("SPEC.json");
  line.option("out", "DIR", "the folder of the store; made if it is not there");
  if (!line.parse(words)) return 0;
  if (!line.given("out")) throw UsageError("--out DIR is missing: where shall the store go?");
  const fs::path specification = line.text("SPEC.json");
  read_store_specification(specification);  // its mistakes are found before libtorch is loaded
  build_store_with_worker(specification, line.text("out"));
  return 0;
}

int show(const Words& words) {
  CommandLine line(kShowHelp);
  line.argument("DIR");
  if (!line.parse(words)) return 0;
  std::cout << describe_store(line.text("DIR"));
  return 0;
}

int verify(const Words& words) {
  CommandLine line(kVerifyHelp);
  line.argument("DIR");
  if (!line.parse(words)) return 0;
  const auto findings = verify_store(line.text("DIR"));
  for (const Finding& finding : findings) std::cout << to_text(finding) << "\n";
  if (!findings.empty()) return 1;
  const StoreManifest manifest = read_manifest(line.text("DIR"));
  std::cout << grouped(manifest.records()) << " records in " << grouped(manifest.shards.size())
            << " shards: no fault found\n";
  return 0;
}

}  // namespace

int store_command(const Words& words) {
  if (words.empty()) throw UsageError("say what to do with a store: build, show or verify");
  const Words rest(words.begin() + 1, words.end());
  if (words[0] == "build") return build(rest);
  if (words[0] == "show") return show(rest);
  if (words[0] == "verify") return verify(rest);
  if (words[0] == "--help") {
    std::cout << kHelp;
    return 0;
  }
  const std::string nearest = nearest_name(words[0], {"build", "show", "verify"});
  throw UsageError(
      "unknown command 'store " + words[0] + "'" +
      (nearest.empty() ? "; known are build, show, verify" : "; did you mean '" + nearest + "'?"));
}

}  // namespace draftlab
