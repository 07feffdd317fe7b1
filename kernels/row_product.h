#pragma once

#include <cstdint>

namespace draftlab {

// out[r, o] = sum over i of x[r, i] w[o, i], each as dot() of lanes.h makes it: x [rows, in],
// w [outs, in], out [rows, outs], float32 and contiguous. The bits of a row depend on nothing but
// that row and w, neither on the other rows nor on threads or vector width, which GEMMs do not
// promise: a token that is verified among others gets the logits that it would get alone. For few
// rows, where reading w takes the time (benchmarks/target_forward).
void row_product(const float* x, const float* w, int64_t rows, int64_t in, int64_t outs,
                 float* out);

}  // namespace draftlab
