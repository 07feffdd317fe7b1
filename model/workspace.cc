#include "model/workspace.h"

#include <ATen/ATen.h>

namespace draftlab {

void shape(at::Tensor& buffer, at::IntArrayRef sizes, const at::TensorOptions& options) {
  if (!buffer.defined()) buffer = at::empty({0}, options);
  buffer.resize_(sizes);
}

at::Tensor& Workspace::tensor(const std::string& name, at::IntArrayRef sizes) {
  at::Tensor& buffer = tensors_[name];
  shape(buffer, sizes, options_);
  return buffer;
}

}  // namespace draftlab
