#include "reports/page/page.h"

#include <cctype>
#include <cmath>
#include <cstdio>

#include "base/hash.h"
#include "base/number_text.h"
#include "reports/charts/drawing.h"
#include "reports/page/opening.h"
#include "reports/page/sections.h"
#include "reports/text/html.h"
#include "reports/text/words.h"

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

// A folder's name as part of an address.
std::string in_address(const std::string& name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '-' || c == '_' || c == '.') {
      text += c;
    } else {
      char hex[4];
      std::snprintf(hex, sizeof hex, "%%%02X", byte);
      text += hex;
    }
  }
  return text;
}

// Everything around what `main` holds.
std::string document(const std::string& title, const Scripts& extra, const std::string& main) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         // Even a name that got past the escaping could not run or load anything.
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'" +
         extra.policy +
         "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escape(shorten(title, 120)) + " · draftlab report</title>\n<style>\n" + extra.style +
         std::string(page_style()) + "</style>\n</head>\n<body>\n<main>\n" + main + "</main>\n" +
         extra.elements + "</body>\n</html>\n";
}

}  // namespace

std::string page(const Study& study, const std::optional<ZoomLibrary>& library) {
  const bool empty = study.summary.arms.empty();
  const Scripts extra = empty ? Scripts() : scripts(study, library);
  std::string html;
  html += "<header>\n" + opening_section(study);
  // No arms, nothing to compare.
  if (empty) {
    html += "</header>\n" + overview(study) + paragraph("The plan holds no runs.");
  } else {
    std::string sections;
    for (auto* part :
         {curves_section,   answer_section,   fairness_section,    overview,
          values_section,   settings_section, trials_section,      steps_section,
          switch_section,   target_section,   budgets_section,     acceptance_section,
          decoding_section, survival_section, updates_section,     seconds_section,
          routing_section,  options_section,  cost_section,        jobs_section,
          runs_section,     excluded_section, definitions_section, provenance_section}) {
      sections += part(study);
    }
    html += contents(sections) + "</header>\n" + sections;
  }
  return document(study.plan.name, extra, html);
}

std::string index_page(const std::string& title, const std::vector<IndexedReport>& reports) {
  std::string html = "<header>\n<h1>" + escape(shorten(title, 120)) + "</h1>\n</header>\n";
  for (const IndexedReport& report : reports) {
    const Opening first = opening(*report.study);
    const std::string link = "<a href=\"" + in_address(report.folder) + "/index.html";
    html += "<section>\n<h2>" + link + "\">" + escape(report.study->plan.name) + "</a></h2>\n" +
            paragraph("<strong>" + escape(first.headline) + "</strong>");
    HtmlTable table({"arm", first.measure, "", "says"});
    for (const ForestRow& row : first.rows) {
      table.row({look_sample(row.look) + " " + escape(row.arm),
                 std::isnan(row.value) ? "–" : fixed(row.value, first.decimals),
                 std::isnan(row.difference)
                     ? "–"
                     : signed_text(row.difference, first.decimals) + "<small>" +
                           interval_text(row.low, row.high, first.decimals) + "</small>",
                 escape(row.said)});
    }
    html += table.html();
    if (!first.against.empty())
      html += paragraph("Speaks against: " + escape(listed(first.against)), "note");
    html +=
        paragraph(link + "#fairness\">Checks</a>: " + std::to_string(first.passed) + " pass, " +
                      std::to_string(first.informed) + " inform, " + std::to_string(first.warned) +
                      " warn, " + std::to_string(first.refused) + " refuse",
                  "note") +
        "</section>\n";
  }
  return document(title, {}, html);
}

}  // namespace draftlab
