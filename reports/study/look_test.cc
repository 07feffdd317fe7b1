#include "reports/study/look.h"

#include <gmock/gmock.h>

#include <set>

#include "record/optimizer_kind.h"
#include "reports/text/look.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;

TEST(Look, TheHueMeansTheKindWhateverTheOrderOfTheArms) {
  EXPECT_THAT(looks({"adamw", "muon", "muon", "adamw", "muon"}),
              ElementsAre(0, 1, 1 + kHues, kHues, 1 + 2 * kHues));
  EXPECT_EQ(looks({"muon", "adamw"})[1] % kHues, looks({"adamw"})[0] % kHues);
}

TEST(Look, EveryArmHasALookOfItsOwn) {
  std::vector<std::string> kinds = {"unheard_of"};
  for (const OptimizerKind& kind : optimizer_kinds()) kinds.insert(kinds.end(), 3, kind.name);
  const std::vector<size_t> all = looks(kinds);
  EXPECT_EQ(std::set<size_t>(all.begin(), all.end()).size(), kinds.size());
}

}  // namespace
}  // namespace draftlab
