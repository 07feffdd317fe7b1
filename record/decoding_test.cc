#include "record/decoding.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>

#include "base/error.h"
#include "base/file.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class DecodingFileTest : public ::testing::Test {
 protected:
  ~DecodingFileTest() override { fs::remove(file_); }
  const fs::path file_ =
      fs::temp_directory_path() / ("draftlab_decoding_" + std::to_string(::getpid()) + ".json");
};

DecodingRecord example() {
  DecodingRecord record;
  record.settings = {"p.jsonl", 2, 64, 0.5, 3, 4, 2, 1, "look_up", 16};
  record.weights_hash = "abc";
  record.proposer = "look_up";
  record.speculative = {120, 40, 0.5, 1, 2, 0.25};
  record.plain = {120, 120, 0.5, 0, 6, 0.5};
  record.pass_low = 0.05;
  record.pass_median = 0.0625;
  record.pass_high = 0.0675;
  record.prompts = {{"a", 60, 20, true}, {"b", 60, 20, false}, {"c", 0, 0, std::nullopt}};
  record.samples = {{"a", {{"Hello", false}, {" wörld", true}}}};
  record.machine = {"AVX2", "cpu", "X", 2, 2};
  return record;
}

TEST_F(DecodingFileTest, ComesBackAsItWasWritten) {
  write_decoding(file_, example());
  const DecodingRecord read = *read_decoding(file_);
  EXPECT_EQ(read.settings, example().settings);
  EXPECT_EQ(read.speculative.seconds(), 3.25);
  EXPECT_EQ(read.plain.verify_seconds, 6);
  EXPECT_EQ(read.prompts[1].same, false);
  EXPECT_FALSE(read.prompts[2].same);
  EXPECT_EQ(read.samples[0].pieces[1].text, " wörld");
  EXPECT_TRUE(read.samples[0].pieces[1].drafted);
  EXPECT_EQ(read.machine, example().machine);
  write_decoding(file_.string() + "2", read);
  EXPECT_EQ(read_file(file_.string() + "2"), read_file(file_));
  fs::remove(file_.string() + "2");
  fs::remove(file_);
  EXPECT_FALSE(read_decoding(file_));
}

TEST_F(DecodingFileTest, ARequestComesBackAsItWasWritten) {
  write_decoding_request(file_, {example().settings, "/somewhere/else.json"});
  EXPECT_EQ(read_decoding_request(file_).settings, example().settings);
  EXPECT_EQ(read_decoding_request(file_).out, "/somewhere/else.json");
}

TEST_F(DecodingFileTest, ARequestForAnUnknownProposerIsAnError) {
  DecodingSettings settings;
  settings.proposer = "oracle";
  write_decoding_request(file_, {settings, "/somewhere/else.json"});
  EXPECT_THAT([&] { read_decoding_request(file_); }, ThrowsMessage<Error>(HasSubstr("proposer")));
}

TEST_F(DecodingFileTest, NumbersFollowFromCounts) {
  const DecodingRecord record = example();
  EXPECT_EQ(record.speculative.tokens_per_pass(), 3);
  EXPECT_NEAR(record.speed_up(), (120 / 3.25) / (120 / 6.5), 1e-12);
  EXPECT_EQ(record.different(), 1);
  EXPECT_TRUE(record.is_disturbed()) << "quartiles 0.28 of the median apart";
  DecodingRecord even = record;
  even.pass_low = 0.0575;
  EXPECT_FALSE(even.is_disturbed());
  even.pass_low = NAN;
  EXPECT_FALSE(even.is_disturbed());
  EXPECT_TRUE(std::isnan(DecodingCost{}.tokens_per_pass()));
  EXPECT_TRUE(std::isnan(DecodingCost{}.tokens_per_second()));
}

TEST_F(DecodingFileTest, WhatIsBrokenIsNamed) {
  const auto with = [&](const char* key, const Json& value) {
    write_decoding(file_, example());
    Json json = read_json(file_);
    json.at("speculative").as_object()[key] = value;
    replace_file(file_, pretty(json));
    return [&] { read_decoding(file_); };
  };
  EXPECT_THAT(with("passes", -1), ThrowsMessage<Error>(HasSubstr("speculative.passes")));
  EXPECT_THAT(with("draft_seconds", "NaN"), ThrowsMessage<Error>(HasSubstr("draft_seconds: must")));
  EXPECT_THAT(with("speed", 1), ThrowsMessage<Error>(HasSubstr("speed")));
}

TEST(DecodingSettings, UnknownKeysAndImpossibleValuesAreErrors) {
  const auto parse = [](const char* text) {
    return [=] { parse_decoding_settings(parse_json(text, "s"), "s.json: decode"); };
  };
  EXPECT_THAT(parse(R"({"token": 5})"), ThrowsMessage<Error>(HasSubstr("s.json: decode")));
  EXPECT_THAT(parse(R"({"tokens": 1})"), ThrowsMessage<Error>(HasSubstr("decode.tokens")));
  EXPECT_THAT(parse(R"({"temperature": -1})"), ThrowsMessage<Error>(HasSubstr("temperature")));
  EXPECT_THAT(parse(R"({"batch": 0})"), ThrowsMessage<Error>(HasSubstr("decode.batch")));
  EXPECT_EQ(parse_decoding_settings(parse_json("{}", "s"), "s"), DecodingSettings{});
}

}  // namespace
}  // namespace draftlab
