// Whether the advantage holds in the layers of production.
#include <gmock/gmock.h>

#include <cmath>
#include <optional>

#include "reports/decision/kind_pair.h"
#include "reports/decision/pillar.h"
#include "testing/synthetic_pairs.h"

namespace draftlab {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

Pillar architecture(double sliding, double full, double scatter = 0.01,
                    double (*accepted)(const Result&) = nullptr) {
  std::vector<Result> results;
  add_pair(results, {.arm = "s", .optimizer = "", .layer_types = {kSliding}}, 3, sliding, scatter);
  add_pair(results, {.arm = "f", .optimizer = "", .layer_types = {kFull}}, 3, full, scatter);
  if (accepted != nullptr) accept_as_with(results, accepted);
  std::vector<Study> studies;
  studies.push_back(study_of(std::move(results)));
  return architecture_pillar(kind_pairs(studies, "adamw", "muon"), story());
}

TEST(Architecture, IsOpenWhereTheLossSaysTheOpposite) {
  const auto worse = [](const Result&) { return 3.5; };
  EXPECT_EQ(architecture(3.5, 3.5).verdict, Verdict::kAgainst);
  EXPECT_EQ(architecture(2.5, 2.5, 0.01, worse).verdict, Verdict::kUndecided);
}

TEST(Architecture, FollowsTheAdvantageInEveryKindOfLayer) {
  EXPECT_EQ(architecture(2.5, 2.6).verdict, Verdict::kFor) << architecture(2.5, 2.6).reason;
  // Four of the five layers of production slide.
  EXPECT_EQ(architecture(3.5, 2.5).verdict, Verdict::kAgainst);
  EXPECT_EQ(architecture(2.5, 3.5).verdict, Verdict::kUndecided);
  EXPECT_EQ(architecture(3, 2.5).verdict, Verdict::kUndecided);
  EXPECT_EQ(architecture(2.5, 3).verdict, Verdict::kUndecided);
  EXPECT_EQ(architecture(2.9, 2.9, 0.5).verdict, Verdict::kUndecided);
}

TEST(Architecture, IsOpenWhileTheLayersInQuestionWereNotTrained) {
  const auto verdict = [](std::optional<double> recurrent) {
    std::vector<Result> results;
    add_pair(results, {.arm = "s", .optimizer = "", .layer_types = {kSliding}}, 3, 2.5);
    add_pair(results, {.arm = "f", .optimizer = "", .layer_types = {kFull}}, 3, 2.6);
    if (recurrent)
      add_pair(results, {.arm = "g", .optimizer = "", .layer_types = {"gated_delta_net"}}, 3,
               *recurrent);
    std::vector<Study> studies;
    studies.push_back(study_of(std::move(results)));
    return architecture_pillar(kind_pairs(studies, "adamw", "muon"), whole_story()).verdict;
  };
  EXPECT_EQ(verdict({}), Verdict::kUndecided) << "sliding and full layers say nothing of others";
  EXPECT_EQ(verdict(2.5), Verdict::kFor);
  EXPECT_EQ(verdict(3.5), Verdict::kUndecided) << "behind in kinds that production does not hold";
}

TEST(Architecture, IsUndecidedWithoutRunsThatDifferInTheKindOfLayerAlone) {
  std::vector<Result> results;
  add_pair(results, {.arm = "s", .optimizer = "", .layer_types = {kSliding}}, 3, 2);
  std::vector<Study> studies;
  studies.push_back(study_of(std::move(results)));
  const Pillar pillar = architecture_pillar(kind_pairs(studies, "adamw", "muon"), story());
  EXPECT_EQ(pillar.verdict, Verdict::kUndecided);
  EXPECT_THAT(pillar.reason, HasSubstr("No runs in these folders differ in the kind of layer"));
  EXPECT_TRUE(std::isnan(pillar.margin));
  EXPECT_THAT(pillar.numbers,
              Contains(Field(&PillarNumber::what, HasSubstr("parameters in production, sliding"))));
}

TEST(Architecture, ArmsThatGiveOneKindOfLayerToTheCandidateTellAboutThatKind) {
  const auto verdict = [](double sliding, double full) {
    const std::vector<std::string> types = {kSliding, kFull};
    const RoutingRule others{.pattern = "fc.weight", .rule = "adamw"};
    const auto only = [&](const std::string& layer) {
      return std::vector<RoutingRule>{{.pattern = layer, .rule = "adamw"}, others};
    };
    std::vector<Result> results;
    add_pair(results,
             {.arm = "s", .optimizer = "", .layer_types = types, .routing = only("layers.1.*")}, 3,
             sliding);
    std::vector<Result> more;
    add_pair(more,
             {.arm = "f", .optimizer = "", .layer_types = types, .routing = only("layers.0.*")}, 3,
             full);
    for (Result& r : more) {
      if (r.optimizer.kind == "muon") results.push_back(r);
    }
    std::vector<Study> studies;
    studies.push_back(study_of(std::move(results)));
    return architecture_pillar(kind_pairs(studies, "adamw", "muon"), story()).verdict;
  };
  EXPECT_EQ(verdict(2.5, 2.6), Verdict::kFor);
  EXPECT_EQ(verdict(3.5, 2.6), Verdict::kAgainst);
}

}  // namespace
}  // namespace draftlab
