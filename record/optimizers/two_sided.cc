#include "record/optimizers/two_sided.h"

namespace draftlab::optimizers {
namespace {

bool preconditioned(const OptimizerConfig& options, int64_t side) {
  return !options.has("largest_side") || side <= options.integer("largest_side");
}

}  // namespace

std::vector<Buffer> two_sided_buffers(const OptimizerConfig& options, const Route& route,
                                      const std::string& made, const std::string& text) {
  std::vector<Buffer> kept;
  for (size_t i = 0; i < route.split.size(); ++i) {
    std::string suffix;
    if (route.split.size() > 1) suffix.append(".").append(std::to_string(i));
    const auto add = [&](const std::string& name, int64_t side, const std::string& product) {
      if (!preconditioned(options, side)) return;
      kept.push_back(other_buffer(name + suffix, {side, side}, "mean of " + product));
      kept.push_back(other_buffer(name + "_" + made + suffix, {side, side}, text + product));
    };
    add("left", route.split[i], "G G^T");
    add("right", route.shape.at(1), "G^T G");
  }
  kept.push_back(counter("preconditioner_steps", "gradients that the preconditioners have seen"));
  return kept;
}

UpdateWork two_sided_work(const OptimizerConfig& options, const Route& route, int64_t passes,
                          double renewal) {
  const double every = static_cast<double>(options.integer("precondition_every"));
  UpdateWork work;
  for (const int64_t rows : route.split) {
    const double size = static_cast<double>(rows * route.shape.at(1));
    for (const int64_t whole : {rows, route.shape[1]}) {
      if (!preconditioned(options, whole)) continue;
      const auto side = static_cast<double>(whole);
      work.products += 1 + passes;
      work.flop +=
          static_cast<double>(1 + passes) * 2 * size * side + renewal * side * side * side / every;
    }
  }
  return work;
}

}  // namespace draftlab::optimizers
