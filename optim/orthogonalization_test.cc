#include "optim/orthogonalization.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "record/orthogonalizer.h"

namespace draftlab {
namespace {

bool has_own_table(const OrthogonalizerKind& kind) {
  return !kind.table.empty() && kind.table != "generated";
}

TEST(OrthogonalizerKind, IsWhatItsTableIs) {
  for (const OrthogonalizerKind& kind : orthogonalizer_kinds()) {
    if (!has_own_table(kind)) continue;
    const std::vector<Quintic>& table = quintic_table(kind.table);
    const auto length = static_cast<int64_t>(table.size());
    EXPECT_EQ(kind.cubic, std::ranges::all_of(table, [](const Quintic& p) { return p.c == 0; }))
        << kind.name;
    // A table that may be cut repeats its last step or is Polar Express; any other is run whole.
    if (kind.fewest_steps > 1) {
      EXPECT_EQ(kind.fewest_steps, length) << kind.name;
      EXPECT_EQ(kind.steps, length) << kind.name;
    }
    EXPECT_GE(kind.steps, kind.fewest_steps) << kind.name;
  }
}

TEST(OrthogonalizerKind, NamesEveryTableThatThereIs) {
  std::set<std::string> named;
  for (const OrthogonalizerKind& kind : orthogonalizer_kinds()) {
    if (has_own_table(kind)) named.insert(kind.table);
  }
  for (const std::string& table : quintic_table_names())
    EXPECT_TRUE(named.contains(table)) << table;
}

TEST(Orthogonalization, IsMadeOfEveryKindThatAnOptimizerTakes) {
  for (const OrthogonalizerKind& kind : orthogonalizer_kinds()) {
    if (kind.name == "gram_newton_schulz" || kind.name == "turbo")
      continue;  // of kinds of their own
    const Orthogonalization how = orthogonalization(parse_optimizer_config(
        JsonObject{{"kind", "muon"}, {"orthogonalizer", kind.name}}, "test"));
    EXPECT_EQ(how.quintics.empty(), kind.name == "exact") << kind.name;
    if (!how.quintics.empty()) {
      EXPECT_EQ(how.steps, kind.steps) << kind.name;
    }
    EXPECT_EQ(how.safety, 1 + kind.safety) << kind.name;
  }
}

}  // namespace
}  // namespace draftlab
