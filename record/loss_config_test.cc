#include "record/loss_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "record/segment.h"

namespace draftlab {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

LossConfig parsed(std::string_view text) {
  return parse_loss(parse_json(text, "test"), "sweep.json: training.loss");
}

auto refused(std::string_view text, const std::string& where, const std::string& why) {
  EXPECT_THAT([&] { parsed(text); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("sweep.json: training.loss" + where + ": "), HasSubstr(why))))
      << text;
}

TEST(LossConfig, EveryKindHasANameOfItsOwnAFormulaAndReadsBackAsWritten) {
  std::set<std::string> names;
  for (const LossKind& kind : loss_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_FALSE(kind.summary.empty() || kind.source.empty() || kind.formula.empty()) << kind.name;
    const LossConfig config = parsed("\"" + kind.name + "\"");
    EXPECT_EQ(config.terms, std::vector<LossTerm>({{kind.name, 1}}));
    EXPECT_EQ(config.needs_target(), kind.needs_target);
    EXPECT_EQ(parse_loss(to_json(config), "again"), config);
    EXPECT_EQ(parsed("{\"kind\": \"" + kind.name + "\"}"), config);
  }
  EXPECT_EQ(loss_kinds()[0].name, LossConfig{}.terms[0].kind);
}

TEST(LossConfig, OnlyThoseThatReadTheTargetNeedIt) {
  for (const LossKind& kind : loss_kinds())
    EXPECT_EQ(kind.needs_target, kind.name != "ce" && kind.name != "dpace") << kind.name;
  EXPECT_TRUE(parsed(R"({"ce": 0.9, "tv": 0.1})").needs_target());
  EXPECT_FALSE(parsed(R"({"ce": 0.9})").needs_target());
}

TEST(LossConfig, AMixtureIsOneSumInWhateverOrderItIsWritten) {
  const LossConfig mixture = parsed(R"({"kl": 0.5, "ce": 0.25, "normalize": "labels"})");
  EXPECT_THAT(mixture.terms, ElementsAre(LossTerm{"ce", 0.25}, LossTerm{"kl", 0.5}));
  EXPECT_EQ(mixture.normalize, "labels");
  EXPECT_EQ(mixture, parsed(R"({"normalize": "labels", "ce": 0.25, "kl": 0.5})"));
  EXPECT_EQ(parse_loss(to_json(mixture), "again"), mixture);
  EXPECT_EQ(parsed(R"({"kl": 1})"), parsed(R"("kl")"));
  EXPECT_EQ(parsed(R"({"ce": 1})"), LossConfig{});
  EXPECT_NE(parsed(R"({"ce": 0.5})"), LossConfig{});
}

TEST(LossConfig, HasATextForPeople) {
  EXPECT_EQ(loss_text(LossConfig{}), "ce");
  EXPECT_EQ(loss_text(parsed(R"({"kind": "dpace", "alpha": 0.25})")),
            "dpace alpha=0.25 variant=dpace");
  EXPECT_EQ(loss_text(parsed(R"({"kind": "ce", "normalize": "labels"})")), "ce normalize=labels");
  EXPECT_EQ(loss_text(parsed(R"({"kl": 0.5, "ce": 0.25})")), "0.25 ce + 0.5 kl");
}

TEST(LossConfig, WhatIsNotUnderstoodIsRefusedWithItsKey) {
  refused(R"("cross_entropy")", "", "'cross_entropy' is not known; choose one of: ce dpace kl");
  refused(R"({"kind": "kll"})", ".kind", "'kll' is not known");
  refused(R"({"kl": 0.5, "cee": 0.5})", ".cee", "'cee' is not known");
  refused(R"({"kind": "kl", "alpha": 0.5})", ".alpha", "");
  refused(R"({"kind": "kl", "ce": 0.5})", ".ce", "");
  refused(R"({"kind": "dpace", "alpha": 0})", ".alpha", "must lie between");
  refused(R"({"kind": "dpace", "alpha": 1.5})", ".alpha", "must lie between");
  refused(R"({"kind": "dpace", "variant": "both"})", ".variant", "'both' is not known");
  refused(R"({"kind": "kl", "normalize": "tokens"})", ".normalize", "'tokens' is not known");
  refused(R"({"kl": 0})", ".kl", "must be above 0");
  refused(R"({"kl": -1, "ce": 2})", ".kl", "must be above 0");
  refused(R"({"kl": "half"})", ".kl", "");
  refused(R"({"dpace": 0.5, "kl": 0.5})", ".dpace", "is no part of a mixture");
  refused("{}", "", "names no loss");
  refused(R"({"normalize": "labels"})", "", "names no loss");
  refused("3", "", "must be the name of a loss");
  refused(R"(["kl"])", "", "must be the name of a loss");
}

TEST(LossConfig, TheUsualLossIsNotPartOfASegmentsIdAndEveryOtherOneIs) {
  SegmentConfig config;
  const auto training = [](const SegmentConfig& of) {
    return to_json(of).at("training").get_object();
  };
  EXPECT_FALSE(training(config).contains("loss"));
  std::set<std::string> ids = {segment_id(config)};
  for (const char* text : {R"("kl")", R"("dpace")", R"({"kind": "dpace", "alpha": 0.25})",
                           R"({"kind": "dpace", "variant": "cumulative-confidence-only"})",
                           R"({"kind": "ce", "normalize": "labels"})", R"({"kl": 0.5, "ce": 0.5})",
                           R"({"kl": 0.5, "ce": 0.25})"}) {
    config.training.loss = parsed(text);
    EXPECT_TRUE(ids.insert(segment_id(config)).second) << text;
    EXPECT_TRUE(training(config).contains("loss"));
  }
}

}  // namespace
}  // namespace draftlab
