#include "runner/search.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "runner/sweep.h"
#include "testing/example_sweep.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<Json> points(const std::string& optimizer, int64_t trials, int64_t seed = 1) {
  return search_points(parse_json(optimizer, "test"), trials, seed, "s.json: optimizer");
}

std::vector<double> values(const std::vector<Json>& points, const char* key) {
  std::vector<double> values;
  for (const Json& point : points) values.push_back(json_number(point.at(key), key));
  return values;
}

const std::string kTwo =
    R"({"kind": "adamw", "learning_rate": {"log_uniform": [1e-4, 1e-2]},
        "weight_decay": {"uniform": [0, 0.2]}})";

TEST(Search, FillsEachRangeEvenlyOnItsScale) {
  std::vector<double> rates = values(points(kTwo, 64), "learning_rate"),
                      decays = values(points(kTwo, 64), "weight_decay");
  std::ranges::sort(rates);
  std::ranges::sort(decays);
  for (size_t i = 0; i < 64; ++i) {
    // A point in each 64th of the range, but for the two that the shift may put together.
    EXPECT_NEAR(std::log10(rates[i]), -4 + 2 * (static_cast<double>(i) + 0.5) / 64, 0.05) << i;
    EXPECT_NEAR(decays[i], 0.2 * (static_cast<double>(i) + 0.5) / 64, 0.005) << i;
  }
}

TEST(Search, IsAPureFunctionOfItsSeedAndItsFirstPointsAreThoseOfALongerOne) {
  EXPECT_EQ(points(kTwo, 8), points(kTwo, 8));
  EXPECT_NE(points(kTwo, 8), points(kTwo, 8, 2));
  const std::vector<Json> longer = points(kTwo, 20);
  EXPECT_TRUE(std::ranges::equal(points(kTwo, 8), std::span(longer).first(8)));
}

TEST(Search, GivesArmsWithTheSameRangesTheSamePointsWhateverElseTheySearch) {
  const std::string more = R"({"kind": "muon", "momentum": {"uniform": [0.8, 0.99]},
                               "learning_rate": {"log_uniform": [1e-4, 1e-2]}})";
  EXPECT_EQ(values(points(kTwo, 16), "learning_rate"), values(points(more, 16), "learning_rate"));
}

// Of the first dimension these are 1/2, 3/4, 1/4, 3/8.
TEST(Search, HasThePointsOfASobolSequenceUpToItsShift) {
  const std::vector<double> rates = values(points(kTwo, 4), "learning_rate");
  const double shift = std::log10(rates[0] / 1e-4) / 2 - 0.5;
  const double places[] = {0.5, 0.75, 0.25, 0.375};
  for (size_t i = 0; i < 4; ++i) {
    const double place = places[i] + shift - std::floor(places[i] + shift);
    EXPECT_NEAR(rates[i], std::pow(10, -4 + 2 * place), 0.01 * rates[i]);
  }
}

TEST(Search, ChoosesEachValueAsOften) {
  const std::vector<Json> all =
      points(R"({"kind": "adamw", "learning_rate": {"log_uniform": [1e-4, 1e-2]},
                 "cautious": {"choice": [true, false]}})",
             32);
  const auto cautious = [](const Json& point) { return point.at("cautious").as_bool(); };
  EXPECT_NEAR(std::ranges::count_if(all, cautious), 16, 1);
}

TEST(Search, RangesThatAreNoneAreNamed) {
  const auto expect_refused = [](const std::string& optimizer, const std::string& what) {
    EXPECT_THAT([&] { points(optimizer, 4); }, ThrowsMessage<Error>(HasSubstr(what))) << optimizer;
  };
  expect_refused(R"({"learning_rate": {"uniform": [2, 1]}})",
                 "optimizer.learning_rate.uniform: must be [a, b] with a below b");
  expect_refused(R"({"learning_rate": {"log_uniform": [0, 1]}})", "must lie above 0");
  expect_refused(R"({"learning_rate": {"uniform": 1}})", "must be [a, b], the ends");
  expect_refused(R"({"a": {"b": {"choice": [1]}}})",
                 "optimizer.a.b.choice: must be a list of at least two");
  expect_refused(R"({"a": {"uniform": [0, 1]}, "b": [1, 2]})",
                 "optimizer.b: is a list beside a range");
  EXPECT_NO_THROW(points(R"({"a": 1, "a.b": {"uniform": [0, 1]}})", 4))
      << "for the reader to refuse";
  expect_refused(R"({"a": {"choice": [1, 2]}})", "gives 2 different settings for 4 trials");
}

Sweep searched(const std::vector<std::pair<std::string, std::string>>& more = {}) {
  std::vector<std::pair<std::string, std::string>> changes = {
      {"/split", R"({"train": 6, "tuning": 2, "held_out": 2})"},
      {"/seeds", "[1]"},
      {"/tuning", R"({"seeds": [11], "trials": 5})"},
      {"/arms/0/optimizer",
       R"({"kind": "adamw", "learning_rate": {"log_uniform": [1e-4, 1e-2]}})"}};
  changes.insert(changes.end(), more.begin(), more.end());
  return example_sweep(changes);
}

TEST(Search, EveryArmTriesAsManyPointsWhateverItsNumberOfRanges) {
  const Sweep sweep = searched({{"/arms", R"([{"name": "a", "optimizer": {"kind": "adamw",
                      "learning_rate": {"log_uniform": [1e-4, 1e-2]}}},
                     {"name": "m", "optimizer": {"kind": "muon",
                      "learning_rate": {"log_uniform": [1e-3, 1e-1]},
                      "momentum": {"uniform": [0.8, 0.99]}}},
                     {"name": "l", "optimizer": {"kind": "lion",
                      "learning_rate": [1e-4, 2e-4, 3e-4, 4e-4, 5e-4]}}])"}});
  for (const SweepArm& arm : sweep.arms) EXPECT_EQ(arm.points.size(), 5u) << arm.name;
}

TEST(Search, ASweepSaysHowManyTrialsExactlyWhereItSearches) {
  EXPECT_THAT(message_of([] {
                searched({{"/tuning", R"({"seeds": [11]})"}});
              }),
              HasSubstr("say in \"tuning\""));
  EXPECT_THAT(message_of([] {
                searched({{"/tuning", R"({"seeds": [11], "trials": 0})"}});
              }),
              HasSubstr("tuning.trials: must lie between 1"));
  EXPECT_THAT(message_of([] {
                searched({{"/arms/0/optimizer", R"({"kind": "adamw", "learning_rate": [1e-3]})"}});
              }),
              HasSubstr("tuning.trials: says nothing"));
  EXPECT_THAT(message_of([] {
                searched({{"/arms/0/optimizer",
                           R"({"kind": "adamw", "learning_rate": {"log_uniform": [1, 100]}})"}});
              }),
              HasSubstr("learning_rate"))
      << "a point beyond what the option may be";
}

}  // namespace
}  // namespace draftlab
