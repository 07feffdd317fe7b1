#include "reports/page.h"

#include "reports/html.h"
#include "reports/sections.h"

namespace draftlab {

std::string page(const Study& study) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      // Even a name that got past the escaping could not run or load anything.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      escape(study.plan.name) + " · draftlab report</title>\n<style>\n" +
      std::string(page_style()) + "</style>\n</head>\n<body>\n<main>\n";
  html += overview(study);
  // No arms, nothing to compare.
  if (study.summary.arms.empty()) {
    html += paragraph("The plan holds no runs.");
  } else {
    for (auto* part :
         {fairness_section, answer_section, values_section, curves_section, settings_section,
          trials_section, steps_section, target_section, acceptance_section, survival_section,
          updates_section, seconds_section, routing_section, options_section, excluded_section,
          definitions_section, provenance_section}) {
      html += part(study);
    }
  }
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace draftlab
