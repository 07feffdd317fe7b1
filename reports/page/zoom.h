#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "reports/study/study.h"

namespace draftlab {

// An interactive view of long curves beside the page's charts: drag to zoom, values under the
// mouse. dygraphs draws it where that library is installed (Debian: libjs-dygraphs); the page is
// whole without it and without scripts.
struct ZoomLibrary {
  std::string script, style;
};

// Nothing where the files are not there, or hold what would end the element they stand in.
std::optional<ZoomLibrary> read_zoom_library(
    const std::filesystem::path& folder = "/usr/share/javascript/dygraphs");

// Curves with fewer evaluations than this are read well enough as they are drawn.
inline constexpr size_t kLongCurve = 50;

// The means and intervals of the arms against steps as JSON without a '<'; "" where no curve is
// long. Numbers are rounded to six digits and curves thinned out (decimate.h).
std::string zoom_data(const Study& study);

// The script that draws `zoom-data` with the library.
std::string_view zoom_driver();

}  // namespace draftlab
