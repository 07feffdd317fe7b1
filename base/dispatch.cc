#include "base/dispatch.h"

#include <cstdlib>

namespace draftlab {
namespace {

// Our own kernels are not here: they give the same bits in each version (kernels/lanes.h). Nor are
// libraries in libtorch that choose by the CPU but that nothing here calls: FBGEMM, XNNPACK,
// NNPACK.
constexpr Dispatch kDispatches[] = {
    {"ATen", "ATEN_CPU_CAPABILITY", "default",
     "its loops add up as many numbers at once as a register holds; SLEEF comes with the wider "
     "ones"},
    {"MKL", "MKL_CBWR", "COMPATIBLE",
     "the one branch that it promises to be alike on every CPU of every maker"},
    {"MKL", "MKL_ENABLE_INSTRUCTIONS", "SSE4_2", "below the branch, should that not say it all"},
    {"oneDNN", "ONEDNN_MAX_CPU_ISA", "SSE41",
     "its lowest code generator; blocks of a product are constants there, not sizes of caches"},
    {"oneDNN", "ONEDNN_CPU_ISA_HINTS", "NO_HINTS", "narrower registers add up in another order"},
    {"oneDNN", "ONEDNN_DEFAULT_FPMATH_MODE", "STRICT",
     "other modes round the factors of a product where the CPU can multiply them so"},
    {"C library", "GLIBC_TUNABLES", "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2",
     "exp, log, sin and cos round differently with fused multiply-adds"},
};

}  // namespace

std::span<const Dispatch> dispatches() { return kDispatches; }

void ask_for_portable_arithmetic() {
  for (const Dispatch& dispatch : kDispatches)
    ::setenv(dispatch.variable.data(), dispatch.portable_value.data(), 1);
}

std::string asked_of(std::string_view library) {
  std::string asked;
  for (const Dispatch& dispatch : kDispatches) {
    const char* value = std::getenv(dispatch.variable.data());
    if (dispatch.library != library || value == nullptr) continue;
    asked += (asked.empty() ? "" : " ") + std::string(dispatch.variable) + "=" + value;
  }
  return asked.empty() ? "the best for this CPU" : asked;
}

}  // namespace draftlab
