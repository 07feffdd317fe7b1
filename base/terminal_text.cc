#include "base/terminal_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/number_text.h"

namespace draftlab {
namespace {

// Bytes of the UTF-8 character at `text`'s start; 0 if it is none.
size_t character_size(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t size = byte(0) < 0x80                      ? 1
                      : byte(0) >= 0xf0 && byte(0) < 0xf5 ? 4
                      : byte(0) >= 0xe0 && byte(0) < 0xf0 ? 3
                      : byte(0) >= 0xc2 && byte(0) < 0xe0 ? 2
                                                          : 0;
  if (size == 0 || size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return size;
}

// C0, DEL, and C1 (U+0080 .. U+009F), which some terminals obey too.
bool is_control(std::string_view character) {
  const auto first = static_cast<uint8_t>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<uint8_t>(character[1]) < 0xa0;
}

std::string two_units(int64_t large, const char* large_name, int64_t small,
                      const char* small_name) {
  std::string text = std::to_string(large) + large_name;
  if (small > 0) text += " " + std::to_string(small) + small_name;
  return text;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  while (!text.empty()) {
    const size_t size = character_size(text);
    const std::string_view character = text.substr(0, std::max<size_t>(size, 1));
    if (size > 0 && !is_control(character)) {
      result += character;
    } else {
      for (const char c : character) {
        const auto byte = static_cast<uint8_t>(c);
        result += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      }
    }
    text.remove_prefix(character.size());
  }
  return result;
}

size_t terminal_width(size_t otherwise) {
  struct winsize size = {};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : otherwise;
}

size_t width_of(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

std::string cut(std::string_view text, size_t width) {
  if (width_of(text) <= width) return std::string(text);
  const size_t kept = width > 3 ? width - 3 : 0;
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end) {
    if ((text[end] & 0xc0) != 0x80 && ++characters > kept) break;
  }
  return std::string(text.substr(0, end)) + std::string("...").substr(0, width);
}

std::string wrapped(const std::string& head, std::string_view text, size_t width) {
  const std::string indent(width_of(head), ' ');
  std::string lines, line = head;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    const bool first = width_of(line) == indent.size();
    if (!first && width_of(line) + 1 + width_of(word) > width) {
      lines += line + "\n";
      line = indent + std::string(word);
    } else {
      line += (first ? "" : " ") + std::string(word);
    }
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return lines + line + "\n";
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds)) return number_text(seconds) + " s";
  const auto s = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  if (s < 60) return std::to_string(s) + " s";
  if (s < 3600) return two_units(s / 60, " min", s % 60, " s");
  if (s < 86400) return two_units(s / 3600, " h", s % 3600 / 60, " min");
  return two_units(s / 86400, " d", s % 86400 / 3600, " h");
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {" B", " kB", " MB", " GB", " TB", " PB"};
  size_t unit = 0;
  for (; bytes >= 999.5 && unit < 5; ++unit) bytes /= 1000;
  return (unit == 0 ? fixed(bytes, 0) : significant(bytes, 3)) + kUnits[unit];
}

std::string padded(std::string text, size_t width) {
  const size_t present = width_of(text);
  if (present < width) text.append(width - present, ' ');
  return text;
}

std::string table(const std::vector<std::string>& header,
                  const std::vector<std::vector<std::string>>& rows,
                  const std::vector<bool>& right) {
  std::vector<size_t> widths;
  for (const std::string& name : header) widths.push_back(width_of(name));
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string blanks(widths[i] - width_of(row[i]), ' ');
      line += right[i] ? blanks + row[i] : row[i] + blanks;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add(header);
  for (const auto& row : rows) add(row);
  return text;
}

}  // namespace draftlab
