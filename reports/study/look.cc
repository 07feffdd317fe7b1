#include "reports/study/look.h"

#include <array>
#include <string_view>

#include "reports/text/look.h"

namespace draftlab {
namespace {

// By hue. Kinds that are rarely compared with each other share one.
size_t hue_of(std::string_view kind) {
  constexpr std::array<std::array<std::string_view, 2>, kHues> kinds = {{{"adamw", ""},
                                                                         {"muon", ""},
                                                                         {"normuon", ""},
                                                                         {"turbo_muon", ""},
                                                                         {"soap", "shampoo"},
                                                                         {"lion", "adam_mini"},
                                                                         {"muon_all", ""}}};
  for (size_t hue = 0; hue < kinds.size(); ++hue)
    if (kind == kinds[hue][0] || kind == kinds[hue][1]) return hue;
  return kHues - 1;
}

}  // namespace

std::vector<size_t> looks(const std::vector<std::string>& kinds) {
  std::array<size_t, kHues> used = {};
  std::vector<size_t> looks;
  for (const std::string& kind : kinds) {
    const size_t hue = hue_of(kind);
    looks.push_back(hue + kHues * used[hue]++);
  }
  return looks;
}

}  // namespace draftlab
