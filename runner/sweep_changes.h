#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace draftlab {

// A sweep's content with `changes` made to it, each "PATH=VALUE". PATH is as error messages write
// it, "training.steps" or "arms[1].optimizer.learning_rate"; an element of a list may be called by
// its name, "arms[Muon]". VALUE is JSON, or a text where it is none. A key that is not there is
// added, for the sweep's reader to judge; an element that is not there is an error. Throws Error
// naming the change.
Json with_changes(Json content, const std::vector<std::string>& changes);

}  // namespace draftlab
