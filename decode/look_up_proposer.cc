#include "decode/look_up_proposer.h"

#include "model/look_up.h"

namespace draftlab {

Draft LookUpProposer::propose(int64_t sequence, int32_t anchor, double, Random&) {
  std::vector<int32_t>& text = texts_[sequence];
  text.push_back(anchor);  // not passed yet
  Draft draft{.tokens = look_up(text, longest_)};
  text.pop_back();
  return draft;
}

}  // namespace draftlab
