#include "base/json.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "base/number_text.h"

namespace draftlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Throws;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

TEST(Json, EveryDoubleReadsBackAsItself) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(json_number(parse_json(canonical(Json(value)), "x"), "x"), value)
        << canonical(Json(value));
  }
}

TEST(Json, CanonicalTextSortsKeysAndDoesNotCareHowANumberWasWritten) {
  const std::string a = canonical(parse_json(R"({"b": 1e-3, "a": [3.0, true, null, "x"]})", "x"));
  EXPECT_EQ(a, R"({"a":[3,true,null,"x"],"b":0.001})");
  EXPECT_EQ(canonical(parse_json(R"({"a":[3, true,null,"x"],"b":0.001})", "x")), a);
}

TEST(Json, NotFiniteNumbersBecomeStringsAndReadBack) {
  const double values[] = {std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()};
  for (double value : values)
    EXPECT_EQ(json_number(parse_json(canonical(Json(value)), "x"), "x"), value);
  EXPECT_EQ(canonical(Json(std::nan(""))), "\"NaN\"");
  EXPECT_TRUE(std::isnan(json_number(parse_json("\"NaN\"", "x"), "x")));
}

TEST(Json, ADuplicateKeyIsAnErrorThatNamesItsPath) {
  EXPECT_THAT(message_of([] { parse_json(R"({"arms":[{},{"a":{"lr":1,"lr":2}}]})", "s.json"); }),
              HasSubstr("s.json: arms[1].a.lr: this key is given twice"));
}

TEST(Json, BrokenTextNamesFileAndLine) {
  EXPECT_THAT(message_of([] { parse_json("{\n\"a\": 1,\n}", "s.json"); }),
              HasSubstr("s.json, line 3"));
  EXPECT_THAT(message_of([] { parse_json("{} x", "s.json"); }), HasSubstr("s.json"));
  EXPECT_THAT(message_of([] { parse_json("{\"a\":", "s.json"); }), HasSubstr("incomplete"));
  EXPECT_THAT(message_of([] { parse_json("", "s.json"); }), HasSubstr("not valid JSON"));
  EXPECT_THAT(message_of([] { parse_json("{\"a\":1e999}", "s.json"); }), HasSubstr("a: 1e999"));
}

TEST(Fields, AnUnknownKeyIsAnErrorThatSuggestsTheNearest) {
  const Json value = parse_json(R"({"learning_rat": 1})", "s.json");
  EXPECT_THAT(
      message_of([&] {
        Fields fields(value, "s.json: arms[0]");
        fields.number("learning_rate", 1e-3);
        fields.number("momentum", 0.9);
        fields.finish();
      }),
      HasSubstr("s.json: arms[0].learning_rat: is not a known key; did you mean 'learning_rate'?"));
}

TEST(Fields, MissingAndMistypedKeysAreErrorsWithTheirPath) {
  const Json value = parse_json(R"({"a": "x", "b": 1.5, "c": [1, "y"]})", "s.json");
  EXPECT_THAT(message_of([&] { Fields(value, "s.json").number("a"); }),
              HasSubstr("s.json: a: must be a number, is a string"));
  EXPECT_THAT(message_of([&] { Fields(value, "s.json").integer("b"); }),
              HasSubstr("s.json: b: must be a whole number, is 1.5"));
  EXPECT_THAT(message_of([&] { Fields(value, "s.json").integers("c"); }),
              HasSubstr("s.json: c[1]: must be a whole number"));
  EXPECT_THAT(message_of([&] { Fields(value, "s.json").text("d"); }),
              HasSubstr("s.json: d: is missing"));
  EXPECT_THAT(message_of([&] { Fields(Json(1), "s.json: x"); }),
              HasSubstr("s.json: x: must be an object"));
}

TEST(Fields, AZeroIsKeptAndNotReplacedByTheFallback) {
  const Json value = parse_json(R"({"weight_decay": 0.0})", "s.json");
  EXPECT_EQ(Fields(value, "s.json").number("weight_decay", 0.1), 0.0);
}

}  // namespace
}  // namespace draftlab
