#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace draftlab {

// Watches a response for a loop: some run of four tokens that occurs for the fourth time. Repeated
// text is easy to predict and would flatter every drafter.
class LoopDetector {
 public:
  // The next token. If it completes a loop: how many tokens to keep, that is, the run's first
  // occurrence whole and what lies before its second one; at least 4.
  std::optional<int64_t> add(int32_t token);

 private:
  struct Occurrences {
    int64_t count = 0, kept = 0;
  };
  std::vector<int32_t> tokens_;
  std::map<std::vector<int32_t>, Occurrences> runs_;
};

}  // namespace draftlab
