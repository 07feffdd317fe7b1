#include <unistd.h>

#include <iostream>
#include <sstream>

#include "base/dispatch.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/number_text.h"
#include "programs/command_line.h"
#include "programs/commands.h"
#include "programs/execution.h"
#include "programs/sweep_store.h"
#include "programs/worker_program.h"
#include "record/metrics.h"
#include "record/outcome.h"
#include "runner/interrupt.h"
#include "runner/planner.h"
#include "source_dir.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;

constexpr char kHelp[] =
    "usage: draftlab signature [--sweep SWEEP.json] [--expected NUMBERS.txt] [--numbers | "
    "--verbose]\n\n"
    "Runs the smoke sweep in a temporary folder and prints one hash of its evaluation losses and "
    "final weights.\n"
    "It stays the same until the numbers that this build computes change, on any x86-64 CPU: every "
    "library is\n"
    "asked for its portable version (base/dispatch.h). With another libtorch it may be another.\n"
    "tests/signature.txt holds the one that is expected, tests/signature_numbers.txt what it is "
    "the hash of.\n\n"
    "  draftlab signature\n"
    "  draftlab signature --verbose   the first number that is not as expected, too\n"
    "  draftlab signature --numbers   the numbers in place of their hash\n";

constexpr char kExpected[] = DRAFTLAB_SOURCE_DIR "/tests/signature_numbers.txt";

// Removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "draftlab-signature-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error(name, "cannot make a temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// One line per evaluation and per run: what the hash is of.
std::string numbers_of(const RunFolder& folder, const PlanRecord& plan) {
  std::string text;
  for (const PlannedRun& run : plan.runs) {
    for (const std::string& id : run.segments) {
      const SegmentFolder segment(folder, id);
      const auto outcome = read_outcome(segment.outcome());
      if (!outcome || outcome->kind != OutcomeKind::kDone) {
        throw Error(run.name, "is not done: " + (outcome ? outcome->reason : "no outcome"));
      }
      for (const EvaluationRow& row : read_metrics(segment.metrics()).evaluations) {
        text += run.name + ", step " + std::to_string(row.step) + ", " + row.split + " loss " +
                number_text(row.loss) + "\n";
      }
      text += run.name + ", weights " + outcome->weights_hash + "\n";
    }
  }
  return text;
}

struct Number {
  std::string name, value;
};

// Of a line "AdamW seed=1, step 10, val loss 4.25": the last word is the value. Past the last line:
// "no number".
Number next_number(std::istream& lines) {
  std::string line;
  if (!std::getline(lines, line)) return {"", "no number"};
  const size_t blank = line.rfind(' ');
  if (blank == std::string::npos) return {"", line};
  return {line.substr(0, blank), line.substr(blank + 1)};
}

// What there is to say of the numbers beside those of a file.
std::string compared(const std::string& numbers, const fs::path& expected) {
  std::istringstream are(numbers), were(read_file(expected));
  while (true) {
    const Number is = next_number(are), was = next_number(were);
    if (is.name != was.name)
      return "first difference: " + is.name + " " + is.value + " where " + was.name + " " +
             was.value + " is expected";
    if (is.value != was.value)
      return "first difference: " + is.name + " is " + is.value + ", expected " + was.value;
    if (is.name.empty()) return "every number is as expected";
  }
}

}  // namespace

int signature_command(const Words& words) {
  CommandLine line(kHelp);
  line.option("sweep", "SWEEP.json", "another sweep than the smoke sweep; of one thread");
  line.option("expected", "NUMBERS.txt",
              "what --verbose compares with; for the smoke sweep tests/signature_numbers.txt");
  line.flag("numbers", "print what the hash is of, and not the hash");
  line.flag("verbose", "show progress, and the first number that is not as expected");
  if (!line.parse(words)) return 0;
  ask_for_portable_arithmetic();
  const fs::path file =
      line.optional_text("sweep").value_or(DRAFTLAB_SOURCE_DIR "/sweeps/smoke.json");
  const Sweep sweep = read_sweep(file);
  for (const SweepArm& arm : sweep.arms) {
    if (arm.training.threads != 1)
      throw Error(arm.where + ".training.threads", "must be 1 for a signature");
  }
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path());
  std::ostringstream quiet;
  std::ostream& out = line.given("verbose") ? std::cout : quiet;

  if (!find_store(sweep, folder.store()).built) {
    build_store_with_worker(sweep.store_specification, folder.store(), !line.given("verbose"));
  }
  const PlanRecord plan = make_plan(sweep, find_store(sweep, folder.store()).planned);
  write_plan(folder.plan(), plan);
  const InterruptCounter interrupts;
  if (execute_plan(folder, plan, default_jobs(plan), out, false) != Execution::kFinished) {
    throw Error(file.string(), "did not run to its end; there is no signature\n" + quiet.str());
  }
  const std::string numbers = numbers_of(folder, plan);
  if (line.given("expected") || !line.given("sweep"))
    out << compared(numbers, line.optional_text("expected").value_or(kExpected)) << "\n";
  std::cout << (line.given("numbers") ? numbers : sha256_hex(numbers).substr(0, 16) + "\n");
  return 0;
}

}  // namespace draftlab
