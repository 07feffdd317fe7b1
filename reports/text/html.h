#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace draftlab {

// `text` with U+FFFD instead of control characters, and of those that turn the direction of writing
// around, which would reorder the text beside them.
std::string without_controls(std::string_view text);

// `text` for HTML content and quoted attributes, without controls. Every name that comes from a
// file goes through here.
std::string escape(std::string_view text);

// The first `width` characters (code points) of `text`, with an ellipsis if that is not all of it.
std::string shorten(std::string_view text, size_t width);

// A table row by row; cells are HTML. The first column is the row's header, columns from
// `numbers_from` on are aligned as numbers.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& head, size_t numbers_from = 1);
  void row(const std::vector<std::string>& cells, std::string_view css_class = "");
  // A header cell and one cell over all other columns.
  void wide_row(const std::string& first, const std::string& rest, std::string_view css_class = "");
  std::string html() const;
  // The same without the columns, from the second on, that say the same in each of several rows:
  // what they say stands once below.
  std::string html_without_constants() const;

 private:
  struct Row {
    std::vector<std::string> cells;  // two in a wide row
    std::string css_class;
    bool wide;
  };

  std::string html(const std::vector<size_t>& columns) const;
  std::string css_class_of(size_t column) const;
  bool is_constant(size_t column) const;

  std::vector<std::string> head_;
  size_t numbers_from_;
  std::vector<Row> rows_;
};

std::string paragraph(const std::string& html, std::string_view css_class = "");
// A section with a heading; `id` is what links point to.
std::string section(std::string_view id, const std::string& heading, const std::string& html);
// A part that opens on demand. Parts of the class "figures" are printed open, others not at all.
std::string details(const std::string& summary, const std::string& html,
                    std::string_view css_class = "");

}  // namespace draftlab
