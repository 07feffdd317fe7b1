#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "reports/page/opening.h"

namespace draftlab {

// The opening of a report for a terminal of so many columns (40 are used at least): the headline,
// the forest in characters, what speaks against, the checks. Ends with a line break.
std::string opening_text(const Opening& opening, size_t width);

// {"headline", "measure", "arms": [{"arm", "reference", "value", "difference", "low", "high",
// "claimed", "verdict"}], "against": [TEXT], "checks": {"pass", "inform", "warn", "refuse",
// "cannot_happen"}}; a number that is not known is null.
JsonObject to_json(const Opening& opening);

}  // namespace draftlab
