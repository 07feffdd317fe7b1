#include "record/update_cost.h"

#include "record/buffer.h"
#include "record/optimizer_kind.h"

namespace draftlab {
namespace {

constexpr double kNumber = 4;  // bytes of a float32

}  // namespace

UpdateCost update_cost(const Route& route, const OptimizerConfig& optimizer) {
  UpdateCost cost;
  if (route.rule == "frozen") return cost;
  for (const Buffer& buffer : buffers(optimizer, route)) {
    if (buffer.meaning != Buffer::Meaning::kCounter)
      cost.state_bytes += kNumber * static_cast<double>(numbers(buffer));
  }
  if (const auto work = rule_of(optimizer, route).work; work != nullptr) {
    const UpdateWork each = work(rule_options(optimizer, route), route);
    cost.products = each.products;
    cost.flop = each.flop;
  }
  return cost;
}

UpdateCost update_cost(const std::vector<Route>& table, const OptimizerConfig& optimizer) {
  UpdateCost total;
  for (const Route& route : table) {
    const UpdateCost cost = update_cost(route, optimizer);
    total.state_bytes += cost.state_bytes;
    total.products += cost.products;
    total.flop += cost.flop;
  }
  return total;
}

}  // namespace draftlab
