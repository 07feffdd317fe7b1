#pragma once

#include <cstdint>
#include <vector>

#include "store/reader.h"

namespace draftlab {

// The words of one prompt as numbers, rising, each once; never empty.
using WordSet = std::vector<int64_t>;

// The words of each record's prompt (target_model/words.h), numbered alike for all of them. The
// prompt is what stands before the first response token, without the tokens that all of these
// prompts begin and end with, such as those of a chat template, and decoded by the target's
// tokenizer. Where a store was made of token ids alone there is none, and the ids are the words. A
// prompt without a word is a word itself. A pure function of the store and the records. Throws
// Error if the target's file is gone or has another tokenizer.
std::vector<WordSet> prompt_words(const StoreManifest& manifest,
                                  const std::vector<StoreRecord>& records);

}  // namespace draftlab
