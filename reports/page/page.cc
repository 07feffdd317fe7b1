#include "reports/page/page.h"

#include "base/hash.h"
#include "reports/page/sections.h"
#include "reports/text/html.h"

namespace draftlab {
namespace {

struct Scripts {
  std::string policy;  // of the page's content security policy
  std::string style, elements;
};

Scripts scripts(const Study& study, const std::optional<ZoomLibrary>& library) {
  const std::string data = library ? zoom_data(study) : "";
  if (data.empty()) return {};
  const std::string driver(zoom_driver());
  // Exactly these scripts may run, and no other that a name might bring along.
  return {"; script-src 'sha256-" + sha256_base64(library->script) + "' 'sha256-" +
              sha256_base64(driver) + "'",
          library->style,
          "<script type=\"application/json\" id=\"zoom-data\">" + data + "</script>\n<script>" +
              library->script + "</script>\n<script>" + driver + "</script>\n"};
}

}  // namespace

std::string page(const Study& study, const std::optional<ZoomLibrary>& library) {
  const bool empty = study.summary.arms.empty();
  const Scripts extra = empty ? Scripts() : scripts(study, library);
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      // Even a name that got past the escaping could not run or load anything.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'" +
      extra.policy +
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      escape(shorten(study.plan.name, 120)) + " · draftlab report</title>\n<style>\n" +
      extra.style + std::string(page_style()) + "</style>\n</head>\n<body>\n<main>\n";
  html += "<header>\n" + opening_section(study);
  // No arms, nothing to compare.
  if (empty) {
    html += "</header>\n" + overview(study) + paragraph("The plan holds no runs.");
  } else {
    std::string sections;
    for (auto* part : {curves_section,   answer_section,      fairness_section,   overview,
                       values_section,   settings_section,    trials_section,     steps_section,
                       switch_section,   target_section,      acceptance_section, decoding_section,
                       survival_section, updates_section,     seconds_section,    routing_section,
                       options_section,  cost_section,        jobs_section,       runs_section,
                       excluded_section, definitions_section, provenance_section}) {
      sections += part(study);
    }
    html += contents(sections) + "</header>\n" + sections;
  }
  return html + "</main>\n" + extra.elements + "</body>\n</html>\n";
}

}  // namespace draftlab
