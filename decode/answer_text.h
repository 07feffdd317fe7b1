#pragma once

#include <functional>
#include <string>
#include <vector>

#include "decode/decoding.h"
#include "record/decoding.h"

namespace draftlab {

// An answer in pieces of those who said them, one after the other: the target, the drafter.
// `decode` gives the bytes of a token; a character that several tokens make is said by the last of
// them, and bytes that are no UTF-8 are shown as U+FFFD.
std::vector<DecodedPiece> answer_text(const DecodedAnswer& answer,
                                      const std::function<std::string(int32_t)>& decode);

}  // namespace draftlab
