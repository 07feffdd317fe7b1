#include "target_model/packed_linear.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string_view>

namespace draftlab {
namespace {

// The layout is chosen for this many rows; it serves 16 to 1024 rows equally well.
constexpr int64_t kRows = 128;

// The operators behind torch.compile's frozen linear layers. They have no C++ function in ATen's
// headers.
template <typename Signature>
c10::TypedOperatorHandle<Signature> find_operator(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Signature>();
}

std::optional<at::Tensor> optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

}  // namespace

PackedLinear::PackedLinear(const at::Tensor& weight, at::Tensor bias) : bias_(std::move(bias)) {
  static const auto reorder = find_operator<at::Tensor(const at::Tensor&, std::optional<int64_t>)>(
      "mkldnn::_reorder_linear_weight", "");
  packed_ = reorder.call(weight, kRows);
}

at::Tensor PackedLinear::operator()(const at::Tensor& x) const {
  static const auto linear = find_operator<at::Tensor(
      const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
      c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>)>(
      "mkldnn::_linear_pointwise", "");
  return linear.call(x, packed_, optional(bias_), "none", c10::List<std::optional<at::Scalar>>(),
                     std::nullopt);
}

at::Tensor PackedLinear::add_to(const at::Tensor& sum, const at::Tensor& x) const {
  static const auto linear =
      find_operator<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                               const std::optional<at::Tensor>&, std::string_view)>(
          "mkldnn::_linear_pointwise", "binary");
  return linear.call(x, sum, packed_, optional(bias_), "add");
}

}  // namespace draftlab
