#pragma once

#include <string>
#include <vector>

#include "reports/study.h"

namespace draftlab {

// What a reader must know before believing the comparison, in sentences: how settings were chosen,
// grids that end too early, seconds measured in company, unequal starts, missing runs, few seeds.
std::vector<std::string> warnings(const Study& study);

}  // namespace draftlab
