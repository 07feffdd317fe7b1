#include <cmath>
#include <iostream>
#include <sstream>

#include "base/error.h"
#include "base/lease.h"
#include "base/number_text.h"
#include "base/terminal_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "programs/decoding_runs.h"
#include "runner/interrupt.h"
#include "runner/run_name.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

constexpr char kHelp[] =
    "usage: draftlab decode DIR [--run RUN]... [--prompts FILE] [--tokens N]\n"
    "                       [--temperature T] [--seed S] [--batch B] [--threads N]\n"
    "                       [--proposer look_up] [--tree N,...] [--json]\n\n"
    "Decodes prompts with the drafter of a run and without it, in turn: tokens that a pass of the\n"
    "target yields, tokens a second, and the speed-up over plain decoding. A greedy answer is the\n"
    "plain one, token for token; a sampled one has the target's distribution.\n"
    "Prompts are those of the held-out sequences, or of FILE (JSON lines as for a store). For the\n"
    "held-out ones the numbers are kept in decoding.json of the run's last segment, and the "
    "report\n"
    "has them; \"decode\": {...} in a sweep file does the same behind its last run.\n\n"
    "  draftlab decode runs/quick\n"
    "  draftlab decode runs/quick --run 'Muon seed=1' --prompts prompts/own_240.jsonl --tokens 64\n"
    "  draftlab decode runs/quick --temperature 0.8 --seed 2 --batch 8\n";

// "8,16": numbers with commas between them.
std::vector<int64_t> budgets(const std::string& text) {
  std::vector<int64_t> budgets;
  std::istringstream words(text + ",");
  for (std::string word; std::getline(words, word, ',');) {
    const double number = parse_number(word, "--tree");
    if (!(number >= 0 && number <= 1024 && number == std::floor(number)))
      throw UsageError("--tree must be whole numbers from 0 to 1024 with commas between them");
    budgets.push_back(static_cast<int64_t>(number));
  }
  return budgets;
}

// Runs that are done and reported, or those that are named.
std::vector<const PlannedRun*> chosen(const PlanRecord& plan,
                                      const std::vector<std::string>& names) {
  std::vector<const PlannedRun*> runs;
  for (const std::string& name : names) runs.push_back(&find_run(plan, name));
  if (!names.empty()) return runs;
  for (const PlannedRun& run : plan.runs) {
    if (run.phase != kTrial) runs.push_back(&run);
  }
  return runs;
}

JsonObject json_of(const PlannedRun& run, const DecodingRecord& record) {
  const DecodingCost& cost = record.speculative;
  return {{"run", run.name},
          {"arm", run.arm},
          {"proposer", record.proposer},
          {"tree", record.settings.tree},
          {"prompts", static_cast<int64_t>(record.prompts.size())},
          {"different", record.different()},
          {"tokens_per_pass", cost.tokens_per_pass()},
          {"tokens_per_second", cost.tokens_per_second()},
          {"plain_tokens_per_second", record.plain.tokens_per_second()},
          {"speed_up", record.speed_up()},
          {"prompt_seconds", cost.prompt_seconds},
          {"draft_seconds", cost.draft_seconds},
          {"verify_seconds", cost.verify_seconds},
          {"rest_seconds", cost.rest_seconds}};
}

}  // namespace

int decode_command(const Words& words) {
  CommandLine line(kHelp);
  line.argument("DIR");
  line.options("run", "RUN",
               "a run's name, or the beginning of its name or id; may be repeated; default: every "
               "run that is reported");
  line.option("prompts", "FILE", "prompts as JSON lines; default: the held-out sequences'");
  line.option("first", "N", "only the first N prompts");
  line.option("tokens", "N", "most tokens of an answer; default: 96");
  line.option("temperature", "T", "0, the default: greedy");
  line.option("seed", "S", "of the sampling; default: 1");
  line.option("batch", "B", "prompts at once; default: 1");
  line.option("proposer", "NAME",
              "drafter, the default, or look_up: drafts what followed the last time in the prompt "
              "and the answer, without a drafter; its numbers are printed alone");
  line.option("tree", "N,...",
              "greedy with trees of so many drafted tokens for each pass of the target, one budget "
              "after the other; 0: a chain; printed alone");
  line.option("threads", "N", "of the worker; default: all cores");
  line.flag("json", "the numbers as JSON");
  if (!line.parse(words)) return 0;
  const RunFolder folder(line.text("DIR"));
  const PlanRecord plan = read_plan(folder);
  DecodingSettings settings = decoding_of(plan).value_or(DecodingSettings{});
  const auto number = [&](const char* name, int64_t low, int64_t high, int64_t& value) {
    value = line.whole_number(name, low, high).value_or(value);
  };
  number("first", 1, 1 << 30, settings.prompts);
  number("tokens", 2, 1 << 20, settings.tokens);
  number("seed", 0, 1 << 30, settings.seed);
  number("batch", 1, 4096, settings.batch);
  number("threads", 1, 1024, settings.threads);
  if (const auto text = line.optional_text("temperature"))
    settings.temperature = parse_number(*text, "--temperature");
  if (!(settings.temperature >= 0 && settings.temperature <= 100))
    throw UsageError("--temperature must be between 0 and 100");
  if (const auto file = line.optional_text("prompts")) {
    settings.file = fs::absolute(*file).string();
    if (!fs::exists(settings.file))
      throw Error(settings.file, "is not there; name a file of prompts, one JSON object a line");
  }
  if (const auto proposer = line.optional_text("proposer")) {
    settings.proposer = *proposer;
    if (*proposer != "drafter" && *proposer != "look_up")
      throw UsageError("--proposer must be drafter or look_up");
  }
  const std::vector<int64_t> trees = budgets(line.optional_text("tree").value_or("0"));
  if (line.given("tree") && (settings.temperature > 0 || settings.proposer != "drafter"))
    throw UsageError("--tree is for greedy decoding with a drafter");
  const Lease lock(folder.lock());
  const InterruptCounter interrupts;
  JsonArray all;
  bool different = false;
  // The report is about a drafter's chains.
  const bool kept = settings.file.empty() && settings.proposer == "drafter" && !line.given("tree");
  for (const PlannedRun* run : chosen(plan, line.texts("run"))) {
    fs::path out = SegmentFolder(folder, run->segments.back()).decoding();
    if (!kept) out += ".apart";
    for (const int64_t tree : trees) {
      settings.tree = tree;
      const auto record = decode_run(folder, plan, *run, settings, out);
      if (!kept) fs::remove(out);
      if (!record) return 1;
      different |= record->different() > 0;
      if (line.given("json")) {
        all.push_back(json_of(*run, *record));
        continue;
      }
      std::cout << printable(run->name);
      if (line.given("tree")) std::cout << ", tree of " << tree;
      std::cout << ": " << decoding_text(*record) << std::endl;
    }
  }
  if (line.given("json")) std::cout << pretty(all);
  if (different) throw Error(folder.root().string(), "answers differ from plain decoding");
  return 0;
}

}  // namespace draftlab
