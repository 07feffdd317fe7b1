#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace draftlab {

// Text for people in a terminal or a log.

// A name with its control characters shown as "\x1b", so that a sweep file cannot steer a terminal;
// bytes that are not UTF-8 likewise.
std::string printable(std::string_view text);

// Columns of the terminal that standard output is; `otherwise` where it is none.
size_t terminal_width(size_t otherwise);

// Characters (code points), for aligning columns.
size_t width_of(std::string_view text);
// Cut after `width` characters, with "..." in their last three where something was cut.
std::string cut(std::string_view text, size_t width);
// With blanks behind it up to `width` characters.
std::string padded(std::string text, size_t width);

// `head`, then the words of `text` in lines of at most `width` characters where possible, all lines
// of them starting below the first word.
std::string wrapped(const std::string& head, std::string_view text, size_t width);

// "8 s", "3 min 20 s", "2 h 5 min", "3 d 4 h".
std::string duration_text(double seconds);
// "812 B", "1.2 kB", "3.4 GB" (powers of 1000).
std::string bytes_text(double bytes);

// Rows below a header, columns aligned, numbers (as told by `right`) to the right; no trailing
// blanks.
std::string table(const std::vector<std::string>& header,
                  const std::vector<std::vector<std::string>>& rows,
                  const std::vector<bool>& right);

}  // namespace draftlab
