#include "reports/charts/label.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>

namespace draftlab {
namespace {

constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

using Characters = std::vector<std::string>;  // code points

Characters characters_of(const std::string& text) {
  Characters all;
  for (const char c : text) {
    if (!all.empty() && (static_cast<unsigned char>(c) & 0xC0) == 0x80) {
      all.back() += c;
    } else {
      all.emplace_back(1, c);
    }
  }
  return all;
}

std::string text_of(Characters::const_iterator from, Characters::const_iterator to) {
  std::string text;
  for (; from != to; ++from) text += *from;
  return text;
}

// In shares of the font size, as in DejaVu Sans, the widest of the fonts that a page asks for.
double share_of(const std::string& character) {
  const char c = character[0];
  const auto one_of = [&](std::string_view set) { return set.find(c) != std::string_view::npos; };
  if (character.size() > 2) return character == kEllipsis ? 1.0 : 1.05;
  if (character.size() == 2) return 0.84;
  if (one_of("ijl'|")) return 0.34;
  if (one_of(" .,:;!()[]/\\tfrI-`\"")) return 0.46;
  if (one_of("mwMW@%")) return 1.0;
  if (one_of("+=<>~#")) return 0.84;
  if (c >= 'A' && c <= 'Z') return 0.79;
  return 0.64;
}

double width_of(const Characters& text, double size) {
  double shares = 0;
  for (const std::string& character : text) shares += share_of(character);
  return shares * size;
}

bool ends_word(const std::string& character) {
  return std::string_view(" ,;:_-/=()").find(character) != std::string_view::npos;
}

// Characters that all names begin with, up to the end of a word.
size_t common_start(const std::vector<Characters>& names) {
  size_t common = 0, word = 0;
  for (;; ++common) {
    for (const Characters& name : names)
      if (common >= name.size() || name[common] != names[0][common]) return word;
    if (ends_word(names[0][common])) word = common + 1;
  }
}

// The first and the last characters, as many as have room with an ellipsis between them.
std::string without_middle(const Characters& name, double width, double size) {
  size_t head = 0, tail = 0;
  double room = width - size;
  for (bool front = true; head + tail < name.size(); front = !front) {
    const std::string& next = front ? name[head] : name[name.size() - 1 - tail];
    room -= share_of(next) * size;
    if (room < 0) break;
    front ? ++head : ++tail;
  }
  return text_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(head)) +
         std::string(kEllipsis) +
         text_of(name.end() - static_cast<std::ptrdiff_t>(tail), name.end());
}

}  // namespace

double text_width(const std::string& text, double size) {
  return width_of(characters_of(text), size);
}

std::vector<std::string> fitted(const std::vector<std::string>& names, double width, double size) {
  std::vector<Characters> all;
  for (const std::string& name : names) all.push_back(characters_of(name));
  const std::set<std::string> different(names.begin(), names.end());
  size_t start = 0, end = 0;
  if (different.size() > 1) {
    start = common_start(all);
    std::vector<Characters> backwards = all;
    for (Characters& name : backwards) {
      name.erase(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(start));
      std::ranges::reverse(name);
    }
    end = common_start(backwards);
  }
  std::vector<std::string> labels;
  for (size_t i = 0; i < names.size(); ++i) {
    Characters name = all[i];
    if (width_of(name, size) > width && start > 1) {
      name.erase(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(start));
      name.insert(name.begin(), std::string(kEllipsis));
    }
    if (width_of(name, size) > width && end > 1) {
      name.erase(name.end() - static_cast<std::ptrdiff_t>(end), name.end());
      name.emplace_back(kEllipsis);
    }
    labels.push_back(width_of(name, size) <= width ? text_of(name.begin(), name.end())
                                                   : without_middle(name, width, size));
  }
  return labels;
}

}  // namespace draftlab
