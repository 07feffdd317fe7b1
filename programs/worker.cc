// draftlab-worker: the program that holds tensors. `draftlab` starts one per segment and one to
// build a store.
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/build.h"
#include "base/error.h"
#include "decode/run_decoding.h"
#include "record/decoding.h"
#include "record/run_folder.h"
#include "runner/worker_lock.h"
#include "target_model/capture.h"
#include "train/device.h"
#include "train/planned_split.h"
#include "train/segment_training.h"
#include "train/step_timing.h"

namespace draftlab {
namespace {

constexpr char kUsage[] =
    "usage: draftlab-worker train SEGMENT.json      train one segment in the folder of that file\n"
    "       draftlab-worker time SEGMENT.json...    measure their steps in turn into timing.json "
    "beside each\n"
    "       draftlab-worker decode SEGMENT.json REQUEST.json\n"
    "                                               decode prompts with its drafter and without\n"
    "       draftlab-worker build-store SPEC.json DIR\n"
    "       draftlab-worker check-device cuda       whether it can train there\n"
    "       draftlab-worker check-split STORE JSON  whether the store can be split like that\n"
    "       draftlab-worker --version\n"
    "draftlab starts this program; by hand it is useful under a debugger.\n";

std::atomic<bool> stop{false};

// A worker that outlives its runner would work unseen: SIGTERM comes as the runner dies. Returns
// whether it died before it could be sent.
bool end_with_runner() {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const char* runner = std::getenv("DRAFTLAB_RUNNER");
  return runner != nullptr && std::to_string(::getppid()) != runner;
}

// Users, terminals and batch systems ask to stop by one of these; the answer is a checkpoint. The
// runner starts us with signals blocked, so that none is lost, or kills us, before this.
void stop_on_signals() {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU})
    std::signal(number, [](int) { stop = true; });
  if (end_with_runner()) stop = true;
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// A file that we map was cut short. Only what a handler may do: the runner tells the line.
void tell_cut_file(int) {
  constexpr char kText[] =
      "draftlab-worker: a file of the store or the target was cut short while it was in use; put "
      "it "
      "back and resume\n";
  if (::write(STDERR_FILENO, kText, sizeof kText - 1) < 0) ::_exit(2);
  ::_exit(1);
}

// The runner holds the lock of a worker that it starts; by hand we are our own runner.
bool is_by_hand() { return std::getenv("DRAFTLAB_RUNNER") == nullptr; }

int train(const std::filesystem::path& task_file) {
  const SegmentTask task = read_task(task_file);
  const SegmentFolder folder(std::filesystem::absolute(task_file).parent_path());
  std::optional<WorkerLock> lock;
  if (is_by_hand()) lock.emplace(folder.lock());
  try {
    const Outcome outcome = train_segment(task, folder.root(), stop);
    std::cout << outcome_name(outcome.kind) << " at step " << outcome.step
              << (outcome.reason.empty() ? "" : ": " + outcome.reason) << std::endl;
    for (const std::string& notice : outcome.notices) std::cout << notice << std::endl;
    return outcome.kind == OutcomeKind::kInterrupted ? 130 : 0;
  } catch (const std::exception& error) {
    write_outcome(folder.outcome(),
                  {.kind = OutcomeKind::kFailed, .reason = error.what(), .segment = task.id});
    throw;
  }
}

int time(const std::vector<std::filesystem::path>& task_files) {
  std::vector<TimedSegment> segments;
  std::list<WorkerLock> locks;
  for (const auto& file : task_files) {
    const auto folder = std::filesystem::absolute(file).parent_path();
    if (is_by_hand()) locks.emplace_back(SegmentFolder(folder).lock());
    segments.push_back({read_task(file), folder});
  }
  return time_segments(segments, stop) ? 0 : 130;
}

int decode(const std::filesystem::path& task_file, const std::filesystem::path& request_file) {
  const SegmentTask task = read_task(task_file);
  const SegmentFolder folder(std::filesystem::absolute(task_file).parent_path());
  const DecodingRequest request = read_decoding_request(request_file);
  std::optional<WorkerLock> lock;
  if (is_by_hand()) lock.emplace(folder.lock());
  const auto record = decode_with(
      task, folder.root(), request.settings,
      [](size_t done, size_t all) {
        std::cout << "decoded " << done << " of " << all << std::endl;
      },
      stop);
  if (!record) return 130;
  write_decoding(request.out, *record);
  return 0;
}

int run(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  std::signal(SIGBUS, tell_cut_file);
  std::signal(SIGXFSZ, SIG_IGN);  // as in draftlab
  if (command == "--version") {
    std::cout << "draftlab-worker " << build_version() << " (" << build_commit() << ")\n";
    return 0;
  }
  if (command == "train" && argc == 3) {
    stop_on_signals();
    return train(argv[2]);
  }
  if (command == "time" && argc >= 3) {
    stop_on_signals();
    return time({argv + 2, argv + argc});
  }
  if (command == "decode" && argc == 4) {
    stop_on_signals();
    return decode(argv[2], argv[3]);
  }
  if (command == "check-device" && argc == 3) {
    require_device(argv[2]);
    return 0;
  }
  if (command == "check-split" && argc == 4) {
    StoreReader store(argv[2]);
    planned_split(store, parse_split(parse_json(argv[3], "split"), "split"));
    return 0;
  }
  if (command == "build-store" && argc == 4) {
    if (end_with_runner()) return 1;
    return build_store(argv[2], argv[3], std::cout, ::isatty(STDOUT_FILENO));
  }
  std::cerr << kUsage;
  return 2;
}

}  // namespace
}  // namespace draftlab

int main(int argc, char** argv) {
  try {
    return draftlab::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "draftlab-worker: " << error.what() << std::endl;
    return 1;
  }
}
