#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace draftlab {

// The words of a text in order: runs of letters, marks and digits, in lower case where they are
// ASCII. In scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese) every character is a
// word. All else, bytes that are no UTF-8 included, only separates.
std::vector<std::string> words_of(std::string_view text);

}  // namespace draftlab
