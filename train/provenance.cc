#include "train/provenance.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <fstream>
#include <thread>

#include "base/build.h"
#include "base/file.h"
#include "kernels/cuda_libraries.h"

namespace draftlab {
namespace {

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

JsonObject machine_facts(const TrainingConfig& training) {
  return {{"vector_instructions", at::get_cpu_capability()},
          {"device", training.device},
          {"cpu", cpu_model()},
          {"cores", std::thread::hardware_concurrency()},
          {"threads", training.threads}};
}

void write_provenance(const std::filesystem::path& file, const TrainingConfig& training) {
  JsonObject facts{{"draftlab_version", build_version()}, {"commit", build_commit()},
                   {"build_type", build_type()},          {"compiler", build_compiler()},
                   {"libtorch", TORCH_VERSION},           {"cuda", cuda_libraries()}};
  for (const auto& fact : machine_facts(training)) facts.insert(fact);
  replace_file(file, pretty(facts));
}

}  // namespace draftlab
