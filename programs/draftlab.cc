// draftlab: plans, runs and reports sweeps. Holds no tensors; draftlab-worker does.
#include <fcntl.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>

#include "base/build.h"
#include "base/file.h"
#include "base/nearest_name.h"
#include "programs/command_line.h"
#include "programs/commands.h"

namespace draftlab {
namespace {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const Words&);
};

constexpr Command kCommands[] = {
    {"plan", "what a sweep file would run: runs, steps, store, disk, time, routing", plan_command},
    {"run", "run a sweep file into a folder and write its report", run_command},
    {"resume", "run what a folder still lacks", resume_command},
    {"status", "where each run of a folder stands", status_command},
    {"log", "what the workers of a run printed", log_command},
    {"restart", "train runs of a folder anew", restart_command},
    {"retry-failed", "train the failed runs of a folder again", retry_failed_command},
    {"forget", "take away what runs of a folder have computed", forget_command},
    {"answer", "what a folder answers so far, in the terminal", answer_command},
    {"report", "write the report of a folder again", report_command},
    {"check", "what makes a folder's comparison unfair, if anything does", check_command},
    {"decode", "tokens a second with the drafters of a folder, and without", decode_command},
    {"store", "build, show or verify a hidden-state store", store_command},
    {"optimizers", "the kinds of optimizer and their options", optimizers_command},
    {"pipeline", "who waits for whom, time to target, what a slower step costs", pipeline_command},
    {"decide", "whether a run in production should change its optimizer", decide_command},
    {"signature", "one hash of what this build computes on the smoke sweep", signature_command},
};

std::string help() {
  std::string text =
      "draftlab trains DFlash drafters with several optimizers from one cached hidden-state store "
      "and\n"
      "reports which optimizer wins, by how much, and whether the comparison was fair.\n\n"
      "  draftlab plan sweeps/quick.json\n"
      "  draftlab run sweeps/quick.json --out runs/quick --jobs 2\n"
      "  draftlab status runs/quick\n\n"
      "commands; each explains itself with --help:\n";
  for (const Command& command : kCommands) {
    std::string name = command.name;
    name.resize(14, ' ');
    text += "  " + name + command.summary + "\n";
  }
  return text +
         "\nExit status: 0 all is done, 1 something failed, 2 the command line makes no sense.\n";
}

// A closed descriptor would be given to the next file that is opened, and progress written into it.
void open_standard_files() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) < 0) ::open("/dev/null", O_RDWR);  // takes the lowest free
  }
}

int run(const Words& words) {
  if (words.empty()) throw UnknownCommand("a command is missing");
  const std::string& name = words[0];
  if (name == "--help" || name == "-h" || name == "help") {
    std::cout << help();
    return 0;
  }
  if (name == "--version") {
    std::cout << "draftlab " << build_version() << " (" << build_commit() << ", " << build_type()
              << ", " << build_compiler() << ")\n";
    return 0;
  }
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run({words.begin() + 1, words.end()});
    names.emplace_back(command.name);
  }
  const std::string nearest = nearest_name(name, names);
  throw UnknownCommand("unknown command '" + name + "'" +
                       (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

}  // namespace
}  // namespace draftlab

int main(int argc, char** argv) {
  draftlab::open_standard_files();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit is an error that names the file
  const draftlab::Words words(argv + 1, argv + argc);
  try {
    const int status = draftlab::run(words);
    std::cout.flush();
    if (!std::cout) throw std::runtime_error("cannot write to the standard output");
    return status;
  } catch (const draftlab::UnknownCommand& error) {
    std::cerr << "draftlab: " << error.what() << "\ntry: draftlab --help\n";
    return 2;
  } catch (const draftlab::UsageError& error) {
    std::cerr << "draftlab: " << error.what() << "\ntry: draftlab " << words[0] << " --help\n";
    return 2;
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << "draftlab: " << draftlab::shown(error.path1())
              << ": cannot be used: " << error.code().message()
              << "; name another place, or make this one accessible" << std::endl;
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "draftlab: " << error.what() << std::endl;
    return 1;
  }
}
