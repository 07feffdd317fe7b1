#include "reports/study/company.h"

#include <gmock/gmock.h>

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Company, WorkersOneAfterAnotherWereAlone) {
  EXPECT_THAT(segments_in_company({{"a", 0, 10, "done", 1}, {"b", 10, 20, "done", 1}}),
              ElementsAre(Pair("a", false), Pair("b", false)));
}

TEST(Company, OverlappingWorkersWereNotAlone) {
  EXPECT_THAT(segments_in_company(
                  {{"c", 40, 50, "done", 1}, {"a", 0, 30, "done", 1}, {"b", 20, 25, "done", 1}}),
              ElementsAre(Pair("a", true), Pair("b", true), Pair("c", false)));
}

TEST(Company, ARestartedSegmentIsNoCompanyForItself) {
  EXPECT_THAT(segments_in_company({{"a", 0, 0, "", 1}, {"a", 10, 20, "done", 1}}),
              ElementsAre(Pair("a", false)));
}

TEST(Company, AWorkerWithoutAnEndLastsUntilItsSegmentStartsAgain) {
  EXPECT_THAT(
      segments_in_company({{"a", 0, 0, "", 1}, {"a", 10, 20, "done", 1}, {"b", 20, 30, "done", 1}}),
      ElementsAre(Pair("a", false), Pair("b", false)));
  EXPECT_THAT(segments_in_company({{"a", 0, 0, "", 1}, {"b", 20, 30, "done", 1}}),
              ElementsAre(Pair("a", true), Pair("b", true)));
}

}  // namespace
}  // namespace draftlab
