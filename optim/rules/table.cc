#include "optim/update_rule.h"

// The update rules, by the name of their kind; most are a file of this folder each. A new one is
// named in both lists.

namespace draftlab {
namespace rules {

UpdateRuleMaker adamw, lion, adam_mini, muon, normuon, soap, shampoo;

}  // namespace rules

const std::map<std::string, UpdateRuleMaker*>& update_rules() {
  using namespace rules;
  static const std::map<std::string, UpdateRuleMaker*> table = {
      {"adamw", adamw},     {"lion", lion},       {"adam_mini", adam_mini},
      {"muon", muon},       {"turbo_muon", muon}, {"muon_all", muon},
      {"normuon", normuon}, {"soap", soap},       {"shampoo", shampoo}};
  return table;
}

}  // namespace draftlab
