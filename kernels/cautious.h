#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/lanes.h"

namespace draftlab {

// Cautious optimizers (Liang et al. 2024, arXiv 2411.16085) keep the entries of an update that
// agree in sign with the gradient: here comparisons, because products of tiny numbers are zero.
template <typename T>
DRAFTLAB_INLINE bool same_sign(T a, T b) {
  return ((a > 0) & (b > 0)) | ((a < 0) & (b < 0));
}

// What the kept entries are multiplied by in C-AdamW and C-Muon: 1 / max(share kept, 1e-3).
inline double cautious_gain(int64_t kept, int64_t all) {
  return 1 /
         std::max(static_cast<double>(kept) / static_cast<double>(std::max<int64_t>(all, 1)), 1e-3);
}

}  // namespace draftlab
