#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda_libraries.h"

namespace draftlab {
namespace {

TEST(CudaLibraries, AreLinkedAndNameTheirVersionsWithoutADevice) {
  EXPECT_THAT(
      cuda_libraries(),
      ::testing::MatchesRegex("CUDA runtime 13\\.[0-9]+, cuBLAS 13\\.[0-9.]+, NCCL 2\\.[0-9.]+"));
}

}  // namespace
}  // namespace draftlab
