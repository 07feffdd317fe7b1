#include "reports/study/option_surface.h"

#include <gmock/gmock.h>

#include <cmath>

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;

constexpr Measure kLength = Measure::kAcceptanceLength;

Setting setting(double rate, double momentum, bool nesterov, double length) {
  Setting setting;
  setting.optimizer = {"muon",
                       {{"learning_rate", rate}, {"momentum", momentum}, {"nesterov", nesterov}}};
  setting.deciding[static_cast<size_t>(kLength)].estimate.mean = length;
  return setting;
}

Arm arm_of(std::vector<Setting> settings) {
  Arm arm;
  arm.settings = std::move(settings);
  arm.swept = {{"momentum", {0.9, 0.95, 0.98}},
               {"nesterov", {false, true}},
               {"learning_rate", {0.01, 0.02}}};
  return arm;
}

TEST(OptionSurface, HoldsTheBestOverAllOtherOptionsAndWhatEachOptionWasWorth) {
  const Arm arm = arm_of({setting(0.01, 0.9, false, 1.1), setting(0.01, 0.9, true, 1.2),
                          setting(0.02, 0.9, false, 1.3), setting(0.01, 0.95, true, 1.6),
                          setting(0.02, 0.98, true, NAN)});
  const auto surface = option_surface(arm, kLength);
  ASSERT_TRUE(surface);
  EXPECT_EQ(surface->column_key, "learning_rate");
  EXPECT_EQ(surface->row_key, "momentum");
  EXPECT_THAT(surface->values, ElementsAre(ElementsAre(1.2, 1.3), ElementsAre(1.6, IsNan()),
                                           ElementsAre(IsNan(), IsNan())));
  EXPECT_NEAR(surface->row_spread, 0.3, 1e-12);
  EXPECT_NEAR(surface->column_spread, 0.3, 1e-12);
}

TEST(OptionSurface, PointsDrawnAtRandomHaveNone) {
  Arm arm = arm_of({setting(0.011, 0.91, false, 1.1), setting(0.017, 0.93, false, 1.2),
                    setting(0.029, 0.97, false, 1.3)});
  arm.swept = {{"learning_rate", {0.011, 0.017, 0.029}}, {"momentum", {0.91, 0.93, 0.97}}};
  EXPECT_FALSE(option_surface(arm, kLength));
}

TEST(OptionSurface, OneSweptOptionHasNone) {
  Arm arm = arm_of({setting(0.01, 0.9, false, 1.1), setting(0.02, 0.9, false, 1.2)});
  arm.swept = {{"learning_rate", {0.01, 0.02}}, {"momentum", {0.9}}};
  EXPECT_FALSE(option_surface(arm, kLength));
}

}  // namespace
}  // namespace draftlab
