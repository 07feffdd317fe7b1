#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace draftlab {

// Gives `buffer` a shape; memory is taken only when it has to grow. The contents are undefined.
void shape(at::Tensor& buffer, at::IntArrayRef sizes, const at::TensorOptions& options);

// Tensors that hold nothing from one layer's pass to the next, by name, so that all layers of a
// drafter share their memory.
class Workspace {
 public:
  explicit Workspace(const at::TensorOptions& options) : options_(options) {}
  const at::TensorOptions& options() const { return options_; }
  // With undefined contents; valid until somebody asks for the same name.
  at::Tensor& tensor(const std::string& name, at::IntArrayRef sizes);

 private:
  at::TensorOptions options_;
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace draftlab
