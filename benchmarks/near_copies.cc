// Groups of near copies among prompts: all of a few kinds, as those that templates make, or each of
// its own.
#include "train/near_copies.h"

#include <benchmark/benchmark.h>

#include <set>

#include "base/random.h"

namespace draftlab {
namespace {

std::vector<WordSet> prompts(int64_t count, int64_t kinds) {
  std::vector<WordSet> prompts;
  for (int64_t i = 0; i < count; ++i) {
    Random random(1, "prompt", i);
    const auto kind = static_cast<int64_t>(random.below(kinds));
    std::set<int64_t> words;
    for (int64_t k = 0; k < 12; ++k)  // a dozen words of its kind, and three of its own
      words.insert(1000 + static_cast<int64_t>(Random(2, "kind", kind * 12 + k).below(8000)));
    for (int64_t k = 0; k < 3; ++k) words.insert(static_cast<int64_t>(random.below(1000)));
    prompts.emplace_back(words.begin(), words.end());
  }
  return prompts;
}

void groups(benchmark::State& state) {
  const std::vector<WordSet> all = prompts(state.range(0), state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(groups_of_near_copies(all));
}
BENCHMARK(groups)
    ->ArgNames({"prompts", "kinds"})
    ->Args({600, 20})
    ->Args({6000, 20})
    ->Args({6000, 1})
    ->Args({6000, 6000})
    ->Args({60000, 60000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace draftlab
