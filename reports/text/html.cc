#include "reports/text/html.h"

namespace draftlab {
namespace {

std::string attribute(std::string_view css_class) {
  return css_class.empty() ? "" : " class=\"" + std::string(css_class) + "\"";
}

// U+202A to U+202E and U+2066 to U+2069.
bool turns_direction(std::string_view bytes) {
  if (bytes.size() < 3 || bytes[0] != '\xE2') return false;
  const auto last = static_cast<unsigned char>(bytes[2]);
  return (bytes[1] == '\x80' && last >= 0xAA && last <= 0xAE) ||
         (bytes[1] == '\x81' && last >= 0xA6 && last <= 0xA9);
}

}  // namespace

std::string without_controls(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && text[i] != '\n' && text[i] != '\t') || byte == 0x7f) {
      out += kReplacement;
    } else if (turns_direction(text.substr(i, 3))) {
      out += kReplacement;
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : without_controls(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string shorten(std::string_view text, size_t width) {
  size_t characters = 0, last_kept = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;  // inside a code point
    if (characters + 1 == width) last_kept = i;
    if (++characters > width) return std::string(text.substr(0, last_kept)) + "\xE2\x80\xA6";
  }
  return std::string(text);
}

HtmlTable::HtmlTable(const std::vector<std::string>& head, size_t numbers_from)
    : columns_(head.size()), numbers_from_(numbers_from) {
  rows_ = "<thead><tr>";
  for (size_t i = 0; i < head.size(); ++i) {
    rows_ += "<th scope=\"col\"" + attribute(css_class_of(i)) + ">" + head[i] + "</th>";
  }
  rows_ += "</tr></thead>\n<tbody>\n";
}

std::string HtmlTable::css_class_of(size_t column) const {
  return column >= numbers_from_ ? "number" : "";
}

void HtmlTable::row(const std::vector<std::string>& cells, std::string_view css_class) {
  rows_ += "<tr" + attribute(css_class) + ">";
  for (size_t i = 0; i < cells.size(); ++i) {
    rows_ += i == 0 ? "<th scope=\"row\">" : "<td" + attribute(css_class_of(i)) + ">";
    rows_ += cells[i] + (i == 0 ? "</th>" : "</td>");
  }
  rows_ += "</tr>\n";
}

void HtmlTable::wide_row(const std::string& first, const std::string& rest,
                         std::string_view css_class) {
  rows_ += "<tr" + attribute(css_class) + "><th scope=\"row\">" + first + "</th><td colspan=\"" +
           std::to_string(columns_ - 1) + "\">" + rest + "</td></tr>\n";
}

std::string HtmlTable::html() const {
  return "<div class=\"table\"><table>" + rows_ + "</tbody></table></div>\n";
}

std::string paragraph(const std::string& html, std::string_view css_class) {
  return "<p" + attribute(css_class) + ">" + html + "</p>\n";
}

std::string section(std::string_view id, const std::string& heading, const std::string& html) {
  return "<section id=\"" + std::string(id) + "\">\n<h2>" + heading + "</h2>\n" + html +
         "</section>\n";
}

std::string details(const std::string& summary, const std::string& html,
                    std::string_view css_class) {
  return "<details" + attribute(css_class) + "><summary>" + summary + "</summary>\n" + html +
         "</details>\n";
}

}  // namespace draftlab
