#include "train/provenance.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <sys/platform/x86.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <utility>

#include "base/dispatch.h"
#include "kernels/clone.h"
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

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// The C library's exp, log, sin and cos are compiled for fused multiply-adds, and without them.
const char* c_library_version() {
  return CPU_FEATURE_ACTIVE(FMA) && CPU_FEATURE_ACTIVE(AVX2) ? "FMA" : "SSE2";
}

}  // namespace

std::string vector_instructions() {
  return std::string("draftlab ") + picked_clone() + "; ATen " + at::get_cpu_capability() +
         "; C library " + c_library_version() + "; MKL " + asked_of("MKL") + "; oneDNN " +
         asked_of("oneDNN");
}

Machine this_machine(const TrainingConfig& training) {
  return {vector_instructions(), training.device, cpu_model(),
          std::max<int64_t>(1, std::thread::hardware_concurrency()), training.threads};
}

Life this_life(const TrainingConfig& training, int64_t first_step) {
  JsonObject build = this_build();
  build["libtorch"] = TORCH_VERSION;
  build["cuda"] = cuda_libraries();
  return {host_name(), first_step, this_machine(training), std::move(build)};
}

}  // namespace draftlab
