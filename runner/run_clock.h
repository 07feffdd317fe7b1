#pragma once

#include <functional>

#include "record/run_folder.h"

namespace draftlab {

// The clock of a run folder's events: seconds since 1970, of the wall where the program starts, or
// of the latest event in the folder if the wall's clock was set back since; from there on it runs
// evenly, whatever is done to the wall's clock. So events have one order, and no duration is
// negative.
std::function<double()> run_clock(const RunFolder& folder);

// The same from given clocks. `wall`, `steady`: in seconds; `latest`: time of the latest event.
std::function<double()> run_clock(double wall, double latest, std::function<double()> steady);

}  // namespace draftlab
