#pragma once

#include <optional>
#include <string>

#include "reports/charts/chart.h"
#include "reports/page/opening.h"

namespace draftlab {

// The two pictures of the first screen, as <figure>s.

// Every arm's difference to the reference with its interval; "" of one arm.
std::string forest_figure(const Opening& opening);

// The paired difference to the reference of the measure that decides, against steps; "" where no
// arm shares two evaluations with it.
std::string difference_figure(const Study& study);
// The same chart of any measure.
std::optional<LineChart> difference_chart(const Summary& summary, Measure measure,
                                          const std::string& id);

}  // namespace draftlab
