#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "kernels/adamw_step.h"

namespace draftlab {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 1 << 16;

// Element i belongs to one thread, so neighbours read and write neighbouring addresses.
__global__ void adamw_kernel(float* __restrict__ w, const float* __restrict__ g,
                             float* __restrict__ m, float* __restrict__ v, int64_t n,
                             AdamWConstants<float> k) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride) {
    const float gradient = g[i];
    const float first = k.beta1 * m[i] + k.rest1 * gradient;
    const float second = k.beta2 * v[i] + k.rest2 * gradient * gradient;
    m[i] = first;
    v[i] = second;
    w[i] = k.decay * w[i] - k.rate * (first / (sqrtf(second) * k.scale + k.epsilon));
  }
}

}  // namespace

void adamw_step_cuda(float* w, const float* g, float* m, float* v, int64_t n, const AdamWStep& step,
                     void* stream) {
  if (n == 0) return;
  const auto blocks = static_cast<unsigned>(std::min((n + kThreads - 1) / kThreads, kMaxBlocks));
  adamw_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      w, g, m, v, n, AdamWConstants<float>(step));
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
    throw Error("adamw_step_cuda", std::string("the launch failed: ") + cudaGetErrorString(error));
  }
}

}  // namespace draftlab
