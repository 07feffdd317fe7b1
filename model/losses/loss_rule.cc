#include "model/losses/loss_rule.h"

#include "base/error.h"

namespace draftlab {

const LossRule& loss_rule(const std::string& kind) {
  using namespace losses;
  for (const LossRule* rule : {&ce_rule, &dpace_rule, &kl_rule, &rkl_rule, &jsd_rule, &tv_rule,
                               &nla_rule, &lk_hybrid_rule}) {
    if (kind == rule->kind) return *rule;
  }
  throw Error("loss", "'" + kind + "' has no rule in model/losses");
}

}  // namespace draftlab
