#include "base/nearest_name.h"

#include <gtest/gtest.h>

namespace draftlab {
namespace {

TEST(NearestName, FindsTheNameThatWasMeant) {
  EXPECT_EQ(nearest_name("stauts", {"run", "status", "report"}), "status");
  EXPECT_EQ(nearest_name("learning_rat", {"momentum", "learning_rate"}), "learning_rate");
  EXPECT_EQ(nearest_name("spec", {"folder", "specification"}), "specification");
  EXPECT_EQ(nearest_name("x", {"a", "b"}), "a") << "one edit is always near";
}

TEST(NearestName, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("frobnicate", {"run", "status", "report"}), "");
  EXPECT_EQ(nearest_name("run", {}), "");
}

}  // namespace
}  // namespace draftlab
