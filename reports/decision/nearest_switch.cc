#include "reports/decision/nearest_switch.h"

#include <algorithm>
#include <cmath>

#include "record/optimizer_kind.h"
#include "reports/decision/kind_pair.h"

namespace draftlab {
namespace {

// Switches in the same phase of the schedule come first, then the nearest share of training.
std::pair<bool, double> distance(const MeasuredSwitch& one, const DecisionContext& context) {
  const SwitchPlace& place = one.of.group.place;
  return {place.in_warmup() != context.place.in_warmup(),
          std::abs(place.share_of_training() - context.place.share_of_training())};
}

}  // namespace

size_t MeasuredSwitch::best_variant() const {
  size_t best = variants.front();
  for (const size_t v : variants) {
    if (better(Measure::kAcceptanceLength, of.outcomes[v].final_length.difference.mean,
               of.outcomes[best].final_length.difference.mean))
      best = v;
  }
  return best;
}

std::optional<MeasuredSwitch> nearest_switch(const std::vector<Study>& studies,
                                             const DecisionContext& context,
                                             const std::vector<std::string>& folders) {
  std::optional<MeasuredSwitch> nearest;
  for (const Study& study : studies) {
    if (!folders.empty() && std::ranges::find(folders, folder_name(study)) == folders.end())
      continue;
    for (SwitchStudy& one : switch_studies(study)) {
      if (one.group.before.optimizer.kind != context.current) continue;
      std::vector<size_t> variants;
      for (size_t v = 0; v < one.group.variants.size(); ++v) {
        const SwitchVariant& variant = one.group.variants[v];
        if (variant.settings.front().optimizer.kind == context.candidate && variant.chosen())
          variants.push_back(v);
      }
      if (variants.empty()) continue;
      MeasuredSwitch measured{&study, std::move(one), variants};
      if (!nearest || distance(measured, context) < distance(*nearest, context))
        nearest = std::move(measured);
    }
  }
  return nearest;
}

std::string no_switch_text(const DecisionContext& context) {
  return "No folder holds finished runs that change from " + kind_title(context.current) + " to " +
         kind_title(context.candidate) + ".";
}

}  // namespace draftlab
