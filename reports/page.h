#pragma once

#include <string>
#include <string_view>

#include "reports/study.h"

namespace draftlab {

// The whole report as one HTML file: no script, nothing fetched, light and dark, fit for printing.
// The same study gives the same bytes.
std::string page(const Study& study);

// Its style sheet.
std::string_view page_style();

}  // namespace draftlab
