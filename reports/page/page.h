#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/page/zoom.h"
#include "reports/study/study.h"

namespace draftlab {

// The whole report as one HTML file: nothing fetched, light and dark, fit for printing, complete
// without scripts. With a library, long curves can be zoomed into where scripts run. The same study
// and library give the same bytes.
std::string page(const Study& study, const std::optional<ZoomLibrary>& library = std::nullopt);

// One page for several reports that lie in folders beside it, with what each answers and a link.
struct IndexedReport {
  std::string folder;  // its name
  const Study* study;
};
std::string index_page(const std::string& title, const std::vector<IndexedReport>& reports);

// Its style sheet.
std::string_view page_style();

}  // namespace draftlab
