#include "reports/charts/chart.h"

#include "reports/text/html.h"

namespace draftlab {

std::string figure_of(const std::string& svg, const ChartText& text, std::string_view css_class) {
  std::string html = "<figure";
  if (!css_class.empty()) html += " class=\"" + std::string(css_class) + "\"";
  html += ">" + svg;
  if (!text.csv.empty()) {
    const std::string file = escape(text.csv);
    html += "<figcaption><a href=\"" + file + "\">" + file + "</a></figcaption>";
  }
  return html + "</figure>\n";
}

}  // namespace draftlab
