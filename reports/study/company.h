#pragma once

#include <map>
#include <string>
#include <vector>

#include "record/events.h"

namespace draftlab {

// For every segment in `events`: did another worker run at the same time? Seconds measured in
// company are longer than seconds measured alone. A worker without an end is taken to have run
// until its segment started again, or until today.
std::map<std::string, bool> segments_in_company(std::vector<WorkerEvent> events);

}  // namespace draftlab
