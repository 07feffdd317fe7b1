#include "train/prompt_words.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "target_model/gguf.h"
#include "target_model/tokenizer.h"
#include "target_model/words.h"

namespace draftlab {
namespace {

using Tokens = std::span<const int32_t>;

Tokens prompt_of(const StoreRecord& record) {
  return record.token_ids.first(std::ranges::find_if(record.loss_mask, std::identity()) -
                                record.loss_mask.begin());
}

// How many tokens all prompts begin with together.
size_t common_beginning(const std::vector<Tokens>& prompts) {
  size_t length = prompts.front().size();
  for (const Tokens& prompt : prompts) {
    const auto same = std::ranges::mismatch(prompts.front().first(length), prompt);
    length = same.in1 - prompts.front().begin();
  }
  return length;
}

size_t common_end(const std::vector<Tokens>& prompts) {
  const Tokens first = prompts.front();
  size_t length = first.size();
  for (const Tokens& prompt : prompts) {
    size_t same = 0;
    while (same < std::min(length, prompt.size()) &&
           first[first.size() - 1 - same] == prompt[prompt.size() - 1 - same])
      ++same;
    length = same;
  }
  return length;
}

std::vector<Tokens> without_template(std::vector<Tokens> prompts) {
  const size_t begin = common_beginning(prompts);
  for (Tokens& prompt : prompts) prompt = prompt.subspan(begin);
  const size_t end = common_end(prompts);
  for (Tokens& prompt : prompts) prompt = prompt.first(prompt.size() - end);
  return prompts;
}

WordSet as_set(std::vector<int64_t> words) {
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace

std::vector<WordSet> prompt_words(const StoreManifest& manifest,
                                  const std::vector<StoreRecord>& records) {
  std::vector<Tokens> prompts;
  for (const StoreRecord& record : records) prompts.push_back(prompt_of(record));
  if (prompts.empty()) return {};
  prompts = without_template(std::move(prompts));

  std::vector<WordSet> sets;
  if (manifest.tokenizer_sha256.empty()) {
    for (const Tokens& prompt : prompts) {
      std::vector<int64_t> words(prompt.begin(), prompt.end());
      if (words.empty()) words.push_back(-1);  // no token
      sets.push_back(as_set(std::move(words)));
    }
    return sets;
  }
  const Tokenizer tokenizer{GgufFile(manifest.target_file)};
  if (tokenizer.sha256() != manifest.tokenizer_sha256) {
    throw Error(manifest.target_file,
                "has another tokenizer than the one that this store was made with; put the old "
                "file back, or build the store again");
  }
  std::unordered_map<std::string, int64_t> numbers;
  for (const Tokens& prompt : prompts) {
    const std::string text = tokenizer.decode(prompt);
    std::vector<std::string> words = words_of(text);
    if (words.empty()) words.push_back(text);
    std::vector<int64_t> found;
    for (std::string& word : words) {
      const auto number = static_cast<int64_t>(numbers.size());
      found.push_back(numbers.emplace(std::move(word), number).first->second);
    }
    sets.push_back(as_set(std::move(found)));
  }
  return sets;
}

}  // namespace draftlab
