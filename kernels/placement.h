#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <functional>
#include <initializer_list>

namespace draftlab {

// Whether all tensors are contiguous memory of this machine's CPU, which our loops need; ATen does
// the rest.
inline bool plain_memory(std::initializer_list<std::reference_wrapper<const at::Tensor>> tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
    return tensor.device().is_cpu() && tensor.is_contiguous();
  });
}

// The same of matrices whose rows may lie apart, as the columns of a wider matrix do.
inline bool plain_rows(std::initializer_list<std::reference_wrapper<const at::Tensor>> matrices) {
  return std::all_of(matrices.begin(), matrices.end(), [](const at::Tensor& matrix) {
    return matrix.device().is_cpu() && matrix.dim() == 2 &&
           (matrix.size(1) < 2 || matrix.stride(1) == 1);
  });
}

// Rows of n numbers that are worth a thread: about 16 thousand numbers.
inline int64_t rows_per_task(int64_t n) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n));
}

}  // namespace draftlab
