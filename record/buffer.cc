#include "record/buffer.h"

#include <functional>
#include <numeric>
#include <set>

#include "base/error.h"
#include "record/hyperball.h"
#include "record/optimizer_kind.h"

namespace draftlab {
namespace {

Buffer average(const std::string& name, Buffer::Meaning meaning, const Route& route, double beta,
               const std::string& text) {
  Buffer buffer{.name = name, .meaning = meaning, .shape = route.shape, .text = text};
  buffer.beta = beta;
  buffer.steps = name + "_steps";
  return buffer;
}

// Names are unique, averages have a counter and mean gradients the weight's shape, and what divides
// a mean gradient is there.
void require_sound(const std::vector<Buffer>& kept, const Route& route) {
  std::set<std::string> names;
  const auto fail = [&](const Buffer& buffer, const std::string& what) {
    throw Error(route.name, "has a buffer '" + buffer.name + "' of " + route.rule + " that " +
                                what + "; correct its declaration in record/optimizers");
  };
  for (const Buffer& buffer : kept) {
    if (!names.insert(buffer.name).second) fail(buffer, "is declared twice");
    const bool gradient = buffer.meaning == Buffer::Meaning::kMeanGradient;
    const bool average = gradient || buffer.meaning == Buffer::Meaning::kMeanSquare;
    if (average && buffer.steps.empty()) fail(buffer, "is an average without a counter");
    if (gradient && buffer.shape != route.shape) fail(buffer, "has not the weight's shape");
  }
  for (const Buffer& buffer : kept) {
    if (!buffer.divided_by.empty() && !names.contains(buffer.divided_by))
      fail(buffer, "is divided by '" + buffer.divided_by + "', which is not declared");
  }
}

}  // namespace

Buffer mean_gradient(const std::string& name, const Route& route, double beta) {
  return average(name, Buffer::Meaning::kMeanGradient, route, beta, "mean gradient");
}

Buffer mean_square(const std::string& name, const Route& route, double beta) {
  return average(name, Buffer::Meaning::kMeanSquare, route, beta, "mean squared gradient");
}

Buffer other_buffer(const std::string& name, std::vector<int64_t> shape, const std::string& text) {
  return {.name = name, .shape = std::move(shape), .text = text};
}

Buffer counter(const std::string& name, const std::string& text) {
  return {.name = name, .meaning = Buffer::Meaning::kCounter, .text = text};
}

std::vector<Buffer> adam_buffers(const Route& route, double beta1, double beta2) {
  Buffer mean = mean_gradient("exp_avg", route, beta1);
  mean.divided_by = "exp_avg_sq";
  return {mean, mean_square("exp_avg_sq", route, beta2)};
}

std::vector<Buffer> buffers(const OptimizerConfig& optimizer, const Route& route) {
  if (route.rule == "frozen") return {};
  std::vector<Buffer> kept =
      rule_of(optimizer, route).buffers(rule_options(optimizer, route), route);
  if (on_hyperball(optimizer, route)) kept.push_back(radius_buffer(route));
  require_sound(kept, route);
  return kept;
}

int64_t numbers(const Buffer& buffer) {
  return std::accumulate(buffer.shape.begin(), buffer.shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace draftlab
