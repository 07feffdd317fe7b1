#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace draftlab {

// A reader of bytes that somebody else wrote. Whatever they are, it may refuse them with an Error,
// and do nothing else: no crash, no other exception, no endless loop, no memory beyond its input's.
struct FuzzTarget {
  std::string name;  // of its folder in fuzz/corpus, too
  void (*read)(std::string_view bytes);
};
const std::vector<FuzzTarget>& fuzz_targets();

// Calls the target and swallows its Errors.
void run_fuzz_target(const FuzzTarget& target, std::string_view bytes);

}  // namespace draftlab
