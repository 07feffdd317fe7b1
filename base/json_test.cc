#include "base/json.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "base/file.h"
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
  EXPECT_THAT(message_of([] { parse_json("x", "s.json"); }), HasSubstr("not valid JSON"));
  EXPECT_THAT(message_of([] { parse_json("{\"a\":1e999}", "s.json"); }), HasSubstr("a: 1e999"));
}

TEST(Json, TextOfAnotherKindIsNamedAndNotCalledASyntaxError) {
  EXPECT_THAT([] { parse_json("\xEF\xBB\xBF{}", "x.json"); },
              ThrowsMessage<Error>(HasSubstr("x.json: begins with a byte order mark")));
  EXPECT_THAT([] { parse_json(std::string("\xFF\xFE{\0}\0", 6), "x.json"); },
              ThrowsMessage<Error>(HasSubstr("x.json: is text in UTF-16")));
  for (const char* blank : {"", " \r\n"})
    EXPECT_THAT([&] { parse_json(blank, "x.json"); },
                ThrowsMessage<Error>(HasSubstr("x.json: is empty")));
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

TEST(Fields, KeysThatWereAskedForMayBeAbsentAndOthersMayNot) {
  const Json value = parse_json(R"({"a": 1, "b": 2})", "s.json");
  Fields all(value, "s.json");
  EXPECT_TRUE(all.has("a"));
  EXPECT_FALSE(all.has("c"));
  EXPECT_EQ(all.integer("b", 7), 2);
  EXPECT_EQ(all.integer("d", 7), 7);
  all.finish();
  Fields one(value, "s.json");
  one.integer("a");
  EXPECT_THAT(message_of([&] { one.finish(); }), HasSubstr("s.json: b: is not a known key"));
}

TEST(Fields, LinesAreVisitedInOrderWithTheirNumbersAndATornLastOneIsLeftOut) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() /
                                     ("draftlab_json_lines_" + std::to_string(::getpid()));
  replace_file(file, "{\"a\":1}\n2\n{\"a\":");
  std::vector<std::string> seen;
  for_each_json_line(file, [&](const Json& value, const std::string& where) {
    seen.push_back(where + " " + canonical(value));
  });
  EXPECT_THAT(seen, ::testing::ElementsAre(file.string() + ", line 1 {\"a\":1}",
                                           file.string() + ", line 2 2"));
  std::filesystem::remove(file);
}

// The ends of a range belong to it, what lies just outside does not, and NaN lies in none.
TEST(Ranges, HoldTheirEndsAndNoNaN) {
  const double below = std::nextafter(1, 0), above = std::nextafter(2, 3);
  const auto refused = [](auto check) { return message_of(check) != "(no error)"; };
  EXPECT_FALSE(refused([] { require_at_least(1, 1, "x"); }));
  EXPECT_TRUE(refused([&] { require_at_least(below, 1, "x"); }));
  EXPECT_TRUE(refused([] { require_above(1, 1, "x"); }));
  EXPECT_FALSE(refused([] { require_above(std::nextafter(1, 2), 1, "x"); }));
  EXPECT_FALSE(refused([] { require_between(1, 1, 2, "x"); }));
  EXPECT_FALSE(refused([] { require_between(2, 1, 2, "x"); }));
  EXPECT_TRUE(refused([&] { require_between(below, 1, 2, "x"); }));
  EXPECT_TRUE(refused([&] { require_between(above, 1, 2, "x"); }));
  EXPECT_TRUE(refused([] { require_at_least(std::nan(""), 1, "x"); }));
  EXPECT_TRUE(refused([] { require_above(std::nan(""), 1, "x"); }));
  EXPECT_TRUE(refused([] { require_between(std::nan(""), 1, 2, "x"); }));
  EXPECT_THAT(message_of([] {
                require_one_of("c", {"a", "b"}, "x");
              }),
              HasSubstr("x: 'c' is not known; choose one of: a b"));
}

TEST(Fields, OnlyNotFiniteNumbersMayBeTexts) {
  EXPECT_THAT(message_of([] { json_number(Json("1"), "x"); }), HasSubstr("must be a number"));
  EXPECT_EQ(json_number(parse_json("18446744073709551615", "x"), "x"), 0x1p64);
}

}  // namespace
}  // namespace draftlab
