#include "reports/text/html.h"

#include <algorithm>

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
    : head_(head), numbers_from_(numbers_from) {}

std::string HtmlTable::css_class_of(size_t column) const {
  return column >= numbers_from_ ? "number" : "";
}

void HtmlTable::row(const std::vector<std::string>& cells, std::string_view css_class) {
  rows_.push_back({cells, std::string(css_class), false});
}

void HtmlTable::wide_row(const std::string& first, const std::string& rest,
                         std::string_view css_class) {
  rows_.push_back({{first, rest}, std::string(css_class), true});
}

bool HtmlTable::is_constant(size_t column) const {
  const Row* first = nullptr;
  size_t equal = 0;
  for (const Row& row : rows_) {
    if (row.wide) continue;
    if (first == nullptr) first = &row;
    if (row.cells.at(column) != first->cells.at(column)) return false;
    ++equal;
  }
  return equal > 1;
}

std::string HtmlTable::html() const {
  std::vector<size_t> columns(head_.size());
  for (size_t i = 0; i < columns.size(); ++i) columns[i] = i;
  return html(columns);
}

std::string HtmlTable::html_without_constants() const {
  const auto row = std::ranges::find(rows_, false, &Row::wide);
  std::vector<size_t> columns;
  std::string constants;
  for (size_t i = 0; i < head_.size(); ++i) {
    if (i == 0 || !is_constant(i)) {
      columns.push_back(i);
    } else {
      constants +=
          (constants.empty() ? "In every row: " : "; ") + head_[i] + " " + row->cells.at(i);
    }
  }
  return html(columns) + (constants.empty() ? "" : paragraph(constants + ".", "note"));
}

std::string HtmlTable::html(const std::vector<size_t>& columns) const {
  std::string text = "<div class=\"table\"><table><thead><tr>";
  for (const size_t i : columns)
    text += "<th scope=\"col\"" + attribute(css_class_of(i)) + ">" + head_[i] + "</th>";
  text += "</tr></thead>\n<tbody>\n";
  for (const Row& row : rows_) {
    text += "<tr" + attribute(row.css_class) + "><th scope=\"row\">" + row.cells[0] + "</th>";
    if (row.wide) {
      text +=
          "<td colspan=\"" + std::to_string(columns.size() - 1) + "\">" + row.cells[1] + "</td>";
    } else {
      for (const size_t i : columns)
        if (i > 0) text += "<td" + attribute(css_class_of(i)) + ">" + row.cells.at(i) + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
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
