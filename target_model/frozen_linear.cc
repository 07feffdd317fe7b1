#include "target_model/frozen_linear.h"

#include "target_model/packed_linear.h"
#include "target_model/row_linear.h"

namespace draftlab {

std::unique_ptr<FrozenLinear> frozen_linear(Products products, const at::Tensor& weight,
                                            const at::Tensor& bias) {
  if (products == Products::kRowwise) return std::make_unique<RowLinear>(weight, bias);
  return std::make_unique<PackedLinear>(weight, bias);
}

}  // namespace draftlab
