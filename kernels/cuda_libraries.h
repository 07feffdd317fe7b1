#pragma once

#include <string>

namespace draftlab {

// The CUDA libraries that this program runs with, for provenance: "CUDA runtime 13.0,
// cuBLAS 13.0.2, NCCL 2.28.9"; "none" in a build without CUDA. Needs no GPU.
std::string cuda_libraries();

}  // namespace draftlab
