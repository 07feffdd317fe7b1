#pragma once

#include <ATen/core/Tensor.h>

namespace draftlab {

// out = sqrt(x) of every element, correctly rounded, for float32 and float64 on the CPU, contiguous
// and of one shape; all else goes to at::sqrt. That is MKL's vector library, which misses the last
// place of one value in five, and not of the same ones on every CPU. `out` may be x.
void square_root_out(at::Tensor& out, const at::Tensor& x);
at::Tensor square_root(const at::Tensor& x);

}  // namespace draftlab
