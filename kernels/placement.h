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

// Rows of n numbers that are worth a thread: about 16 thousand numbers.
inline int64_t rows_per_task(int64_t n) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n));
}

}  // namespace draftlab
