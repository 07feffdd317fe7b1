#include "decode/verification.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>

namespace draftlab {
namespace {

// 1 - p of Pearson's test that counts come from these probabilities.
double chi_squared_p(const std::vector<int64_t>& counts, std::span<const float> p) {
  double draws = 0, statistic = 0;
  int64_t cells = 0;
  for (const int64_t count : counts) draws += static_cast<double>(count);
  for (size_t i = 0; i < counts.size(); ++i) {
    if (p[i] == 0) {
      EXPECT_EQ(counts[i], 0) << "what has probability 0 was drawn";
      continue;
    }
    const double expected = draws * p[i], off = static_cast<double>(counts[i]) - expected;
    statistic += off * off / expected;
    ++cells;
  }
  const boost::math::chi_squared distribution(static_cast<double>(cells - 1));
  return boost::math::cdf(boost::math::complement(distribution, statistic));
}

TEST(VerifyGreedy, KeepsTheTokensThatTheTargetWouldHaveChosenAndSaysTheNext) {
  const std::vector<int32_t> drafted = {5, 6, 7};
  const auto verdict = [&](std::vector<int32_t> choices) {
    const Verdict verdict = verify_greedy(drafted, choices);
    return std::pair(verdict.accepted, verdict.next);
  };
  EXPECT_EQ(verdict({5, 6, 7, 8}), std::pair(int64_t{3}, 8));
  EXPECT_EQ(verdict({5, 1, 7, 8}), std::pair(int64_t{1}, 1)) << "behind an error nothing counts";
  EXPECT_EQ(verdict({4, 6, 7, 8}), std::pair(int64_t{0}, 4));
  EXPECT_EQ(verify_greedy({}, std::vector<int32_t>{9}).next, 9);
}

TEST(Draw, HasTheProbabilitiesAndNeverWhatHasNone) {
  const std::vector<float> p = {0, 0.5f, 0.25f, 0, 0.25f, 0};
  EXPECT_EQ(draw(p, 0), 1);
  EXPECT_EQ(draw(p, 0.4999), 1);
  EXPECT_EQ(draw(p, 0.5), 2);
  EXPECT_EQ(draw(p, 0.7501), 4);
  EXPECT_EQ(draw(p, std::nextafter(1.0, 0.0)), 4);
}

// Token 0 follows the anchor, 1 too, 2 follows 0, 3 follows 1, 4 follows 2.
TEST(AcceptedPath, GoesDownTheTreeWhereTheTargetSaysTheSame) {
  const std::vector<int32_t> tokens = {5, 6, 7, 7, 8};
  const std::vector<int64_t> parents = {-1, -1, 0, 1, 2};
  const auto path = [&](const std::vector<int32_t>& choices) {
    return accepted_path(tokens, parents, choices);
  };
  // Behind the anchor, 5, 6, 5 7, 6 7, 5 7 8.
  EXPECT_EQ(path({5, 7, 0, 8, 0, 0}), (std::vector<int64_t>{0, 2, 4}));
  EXPECT_EQ(path({6, 7, 7, 8, 0, 0}), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(path({5, 9, 7, 8, 0, 0}), (std::vector<int64_t>{0}))
      << "the other branch's 7 is not its";
  EXPECT_TRUE(path({9, 7, 7, 8, 0, 0}).empty());
}

TEST(Softmax, SharpensWithTheTemperature) {
  const std::vector<float> x = {0, std::log(2.f), std::log(4.f)};
  std::vector<float> p(3);
  softmax(x.data(), 3, 1, p.data());
  EXPECT_NEAR(p[2], 4 / 7.0, 1e-6);  // float32
  softmax(x.data(), 3, 0.5, p.data());
  EXPECT_NEAR(p[2], 16 / 21.0, 1e-6);
}

// Whatever the drafter draws from, what comes out is the target's distribution; over pairs of
// tokens, so that the second is seen behind either way of getting the first.
TEST(VerifySampled, HasTheTargetsDistributionWhateverIsDrafted) {
  constexpr int kDraws = 40000;
  constexpr int64_t kVocabulary = 4;
  // The target's second token depends on the first; rows of p are those behind the drafted tokens.
  const std::vector<float> first = {0.1f, 0.6f, 0.3f, 0};
  const std::vector<std::vector<float>> second = {
      {0.25f, 0.25f, 0.25f, 0.25f}, {0.7f, 0.1f, 0.1f, 0.1f}, {0, 0.5f, 0, 0.5f}, {1, 0, 0, 0}};
  const std::vector<std::vector<float>> drafters = {
      {0.1f, 0.6f, 0.3f, 0}, {0.25f, 0.25f, 0.25f, 0.25f}, {0.97f, 0.01f, 0.01f, 0.01f}, {}};
  for (size_t d = 0; d < drafters.size(); ++d) {
    Random random(11, "draws", d), of_second(12, "what the target draws then", d);
    const bool certain = drafters[d].empty();
    std::vector<int64_t> firsts(4), pairs(16);
    for (int i = 0; i < kDraws; ++i) {
      Draft draft;
      const auto propose = [&] { return certain ? 2 : draw(drafters[d], random.uniform()); };
      draft.tokens = {propose(), propose()};
      if (!certain) {
        draft.probabilities = at::tensor(drafters[d]).repeat({2, 1});
      }
      std::vector<float> p = first;
      p.insert(p.end(), second[draft.tokens[0]].begin(), second[draft.tokens[0]].end());
      p.insert(p.end(), first.begin(), first.end());
      const Verdict verdict = verify_sampled(draft, p.data(), kVocabulary, random);
      const int32_t one = verdict.accepted > 0 ? draft.tokens[0] : verdict.next;
      // Behind a rejection the target goes on by itself.
      const int32_t two = verdict.accepted > 1    ? draft.tokens[1]
                          : verdict.accepted == 1 ? verdict.next
                                                  : draw(second[one], of_second.uniform());
      ++firsts[one];
      ++pairs[one * 4 + two];
    }
    std::vector<float> expected;
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b) expected.push_back(first[a] * second[a][b]);
    EXPECT_GT(chi_squared_p(firsts, first), 1e-3) << "drafter " << d;
    EXPECT_GT(chi_squared_p(pairs, expected), 1e-3) << "drafter " << d;
  }
}

TEST(VerifySampled, KeepsEverythingThatIsDrawnFromTheTargetsOwnDistribution) {
  Random random(3, "draws");
  const std::vector<float> p = {0.5f, 0.5f, 0.5f, 0.5f, 1, 0};
  Draft draft{{0, 1}, at::full({2, 2}, 0.5)};
  for (int i = 0; i < 100; ++i) {
    const Verdict verdict = verify_sampled(draft, p.data(), 2, random);
    EXPECT_EQ(verdict.accepted, 2);
    EXPECT_EQ(verdict.next, 0);
  }
}

}  // namespace
}  // namespace draftlab
