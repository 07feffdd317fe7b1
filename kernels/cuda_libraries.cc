#include "kernels/cuda_libraries.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

namespace draftlab {

std::string cuda_libraries() {
  int runtime = 0, nccl = 0, cublas[3] = {};
  cudaRuntimeGetVersion(&runtime);
  cublasGetProperty(MAJOR_VERSION, &cublas[0]);
  cublasGetProperty(MINOR_VERSION, &cublas[1]);
  cublasGetProperty(PATCH_LEVEL, &cublas[2]);
  ncclGetVersion(&nccl);
  const auto dotted = [](int a, int b) { return std::to_string(a) + "." + std::to_string(b); };
  return "CUDA runtime " + dotted(runtime / 1000, runtime % 1000 / 10) + ", cuBLAS " +
         dotted(cublas[0], cublas[1]) + "." + std::to_string(cublas[2]) + ", NCCL " +
         dotted(nccl / 10000, nccl / 100 % 100) + "." + std::to_string(nccl % 100);
}

}  // namespace draftlab
