#include "store/specification.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "store/prompts.h"
#include "testing/every_field.h"

namespace draftlab {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Specification : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("draftlab_specification_test_" + std::to_string(::getpid()));
    make_folder(folder_ / "stores");
    replace_file(
        folder_ / "prompts.jsonl",
        "{\"id\": \"a\", \"prompt\": \"Why?\"}\n\n{\"id\": \"b\", \"token_ids\": [1, 2]}\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  StoreSpecification parse(const std::string& text) const {
    return parse_store_specification(parse_json(text, "x.json"), "x.json", folder_ / "stores");
  }
  // The specification with one part replaced.
  std::string with(const std::string& from, const std::string& to) const {
    std::string text = kGguf;
    return text.replace(text.find(from), from.size(), to);
  }
  void expect_refused(const std::string& text, const std::string& reason) const {
    EXPECT_THAT([&] { parse(text); }, ThrowsMessage<Error>(HasSubstr(reason))) << text;
  }

  static constexpr const char* kGguf = R"({
    "name": "x", "target": {"format": "gguf", "path": "../models/m.gguf"}, "taps": [1, 14],
    "mask_token_id": 0, "prompts": {"file": "../prompts.jsonl"},
    "responses": {"max_tokens": 8, "temperature": 0.7, "seed": 3, "cut_loops": false}})";
  fs::path folder_;
};

TEST_F(Specification, RelativePathsStartAtItsFolderAndTheCountIsThatOfTheFile) {
  const StoreSpecification s = parse(kGguf);
  EXPECT_EQ(s.target.path, folder_ / "models/m.gguf");
  EXPECT_EQ(s.prompts.file, folder_ / "prompts.jsonl");
  EXPECT_EQ(s.prompts.count, 2);
  EXPECT_THAT(s.taps, ElementsAre(1, 14));
  EXPECT_EQ(s.responses.max_tokens, 8);
  EXPECT_EQ(s.responses.temperature, 0.7);
  EXPECT_FALSE(s.responses.cut_loops);
  EXPECT_EQ(s.threads, 1);
}

TEST_F(Specification, TheResolvedTextReadsBackAsTheSame) {
  const std::string made_up =
      R"({"name": "y", "target": {"format": "made_up", "vocab_size": 99}, "taps": [0],
    "mask_token_id": 5, "prompts": {"made_up": {"count": 3, "tokens": 9, "seed": 4}}})";
  for (const std::string& text : {std::string(kGguf), made_up}) {
    const JsonObject once = to_json(parse(text));
    EXPECT_EQ(canonical(to_json(parse_store_specification(once, "y", "/"))), canonical(once));
  }
}

TEST_F(Specification, FinalHiddenIsSaidOnlyWhereItIsSo) {
  const auto identity = [&](const std::string& text) {
    return identity_json(parse(text), "target-hash", "prompts-hash");
  };
  const JsonObject usual = identity(kGguf);
  EXPECT_FALSE(parse(kGguf).final_hidden);
  EXPECT_FALSE(usual.contains("final_hidden"));
  EXPECT_EQ(identity(with("\"name\"", "\"final_hidden\": false, \"name\"")), usual);
  const std::string keeps = with("\"name\"", "\"final_hidden\": true, \"name\"");
  EXPECT_TRUE(parse_store_specification(to_json(parse(keeps)), "y", "/").final_hidden);
  EXPECT_THAT(differences(usual, identity(keeps)),
              ElementsAre("final_hidden: nothing there, true here"));
  expect_refused(with("\"name\"", "\"final_hidden\": 1, \"name\""),
                 "x.json: final_hidden: must be true or false");
}

TEST_F(Specification, MistakesAreErrorsThatNameTheKey) {
  expect_refused(with("\"taps\"", "\"tabs\""), "x.json: taps: is missing");
  expect_refused(with("\"name\"", "\"extra\": 1, \"name\""), "x.json: extra: is not a known key");
  expect_refused(with("[1, 14]", "[]"), "x.json: taps: must name at least one");
  expect_refused(with("[1, 14]", "[14, 1]"), "x.json: taps[1]: must be above 14");
  expect_refused(with("[1, 14]", "[1, 1]"), "x.json: taps[1]: must be above 1");
  expect_refused(with("\"gguf\"", "\"onnx\""), "x.json: target.format: 'onnx' is not known");
  expect_refused(with("\"path\"", "\"seed\""), "x.json: target.path: is missing");
  expect_refused(with("\"mask_token_id\": 0,", ""), "x.json: mask_token_id: is missing");
  expect_refused(with("prompts.jsonl", "none.jsonl"), "x.json: prompts.file: no such file");
  expect_refused(with("\"max_tokens\": 8", "\"max_tokens\": 0"),
                 "x.json: responses.max_tokens: must be at least 1");
  expect_refused(with("0.7", "-1"), "x.json: responses.temperature: must be at least 0");
  expect_refused(with("\"cut_loops\": false", "\"cut_loops\": 0"),
                 "x.json: responses.cut_loops: must be true or false");
  expect_refused(with("{\"file\": \"../prompts.jsonl\"}", "{}"),
                 "needs either \"file\" or \"made_up\"");
  expect_refused(with("prompts.jsonl\"", "prompts.jsonl\", \"count\": 3"),
                 "holds 2 prompts, wanted are 3");
  expect_refused(
      R"({"name": "y", "target": {"format": "made_up", "layers": 2}, "taps": [2], "mask_token_id": 0,
    "prompts": {"made_up": {"count": 3}}})",
      "x.json: taps[0]: must lie between 0 and 1");
  expect_refused(
      R"({"name": "y", "target": {"format": "made_up", "heads": 3, "kv_heads": 2}, "taps": [0]})",
      "x.json: target.kv_heads: must divide heads");
}

TEST_F(Specification, TheIdentityHoldsHashesAndNoFolders) {
  const std::string text = canonical(identity_json(parse(kGguf), "target-hash", "prompts-hash"));
  EXPECT_THAT(text, HasSubstr("target-hash"));
  EXPECT_THAT(text, HasSubstr("prompts-hash"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr(folder_.string())));
}

TEST_F(Specification, DifferencesAreNamedKeyByKey) {
  const Json a = parse_json(R"({"x": 1, "r": {"seed": 1, "t": 0.5}, "gone": true})", "a");
  const Json b = parse_json(R"({"x": 1.0, "r": {"seed": 2, "t": 0.5}, "new": [1]})", "b");
  EXPECT_THAT(differences(a, b),
              ElementsAre("r.seed: 1 there, 2 here", "gone: true there, nothing here",
                          "new: nothing there, [1] here"));
  EXPECT_THAT(differences(a, a), ::testing::IsEmpty());
}

TEST_F(Specification, PromptFilesReadAsTextOrTokensAndNameTheirBrokenLine) {
  const auto read = [&](const std::string& text, int64_t count) {
    replace_file(folder_ / "p.jsonl", text);
    PromptSource source;
    source.file = folder_ / "p.jsonl";
    source.count = count;
    return read_prompts(source);
  };
  const auto prompts =
      read("{\"id\":\"a\",\"prompt\":\"Why?\"}\n{\"id\":\"b\",\"token_ids\":[3,4]}", 0);
  ASSERT_EQ(prompts.size(), 2);
  EXPECT_EQ(prompts[0].text, "Why?");
  EXPECT_THAT(prompts[1].token_ids, ElementsAre(3, 4));
  EXPECT_EQ(read("{\"id\":\"a\",\"prompt\":\"x\"}\nnot json", 1).size(), 1);
  const auto expect_error = [&](const std::string& text, const std::string& reason) {
    EXPECT_THAT([&] { read(text, 0); }, ThrowsMessage<Error>(HasSubstr(reason)));
  };
  const std::string a = "{\"id\":\"a\",\"prompt\":\"x\"}\n";
  expect_error(a + a, "p.jsonl, line 2: the id 'a' was given before");
  expect_error(a + "{\"id\":\"b\"}", "p.jsonl, line 2: needs either");
  expect_error(a + "{\"id\":\"b\",\"token_ids\":[-1]}", "token_ids: must lie between 0");
  expect_error("\n", "holds no prompt: all of its lines are blank");

  const std::string grouped = R"({"id":"c","prompt":"x","group":"sums"})"
                              "\n";
  EXPECT_EQ(read(grouped, 0)[0].group, "sums");
  expect_error(a + grouped, "p.jsonl, line 2: has a \"group\", unlike the prompts before");
  expect_error(grouped + a, "p.jsonl, line 2: has no \"group\", unlike the prompts before");
  expect_error(R"({"id":"c","prompt":"x","group":""})", "group: must not be empty");
}

// Whatever could change a byte of the store, and nothing else.
TEST_F(Specification, EveryFieldIsPartOfTheIdentityButThePlacesOfFiles) {
  const StoreSpecification made_up = parse(R"({"name": "x", "target": {"format": "made_up"},
      "taps": [0, 3], "mask_token_id": 5, "prompts": {"made_up": {"count": 4, "tokens": 9}}})");
  const auto identity = [](const StoreSpecification& s) {
    return canonical(identity_json(s, "the target's", "the prompts'"));
  };
  StoreSpecification walked = made_up;
  for (size_t i = 0; i < every_field(walked).size(); ++i) {
    StoreSpecification changed = made_up;
    const Field field = every_field(changed)[i];
    if (field.file == &changed.prompts.file) continue;  // prompts of a file, then
    change(field);
    EXPECT_EQ(identity(changed) == identity(made_up), field.file == &changed.target.path)
        << "field " << field.path;
  }
  StoreSpecification files = parse(kGguf);
  const std::string before = identity(files);
  files.target.path = "/elsewhere" / files.target.path.filename();
  files.prompts.file = "/elsewhere" / files.prompts.file.filename();
  EXPECT_EQ(identity(files), before);
  EXPECT_NE(canonical(identity_json(files, "another", "the prompts'")), before);
  EXPECT_NE(canonical(identity_json(files, "the target's", "others")), before);
}

TEST_F(Specification, MadeUpPromptsAreAPureFunctionOfTheirSeed) {
  PromptSource source;
  source.count = 20;
  source.tokens = 9;
  const auto a = made_up_prompts(source, 50), b = made_up_prompts(source, 50);
  source.seed = 2;
  const auto c = made_up_prompts(source, 50);
  bool differs = false;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].token_ids, b[i].token_ids);
    if (i > 0) {
      EXPECT_NE(a[i].token_ids, a[i - 1].token_ids);
    }
    differs |= a[i].token_ids != c[i].token_ids;
    EXPECT_THAT(a[i].token_ids.size(), ::testing::AllOf(::testing::Ge(5), ::testing::Le(9)));
    EXPECT_THAT(a[i].token_ids,
                ::testing::Each(::testing::AllOf(::testing::Ge(0), ::testing::Lt(50))));
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace draftlab
