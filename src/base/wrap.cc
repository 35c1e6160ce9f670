#include "base/wrap.h"

#include <algorithm>

namespace weft {

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::size_t widest_line(std::string_view text) {
  std::size_t widest = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    widest = std::max(widest, columns_of(text.substr(from, to - from)));
    from = to + 1;
  }
  return widest;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent,
                    std::size_t used) {
  std::string out;
  const std::string margin(indent, ' ');
  bool fresh = true;  // no word on this line yet
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      out += "\n" + margin;
      used = indent;
      fresh = true;
      ++at;
      continue;
    }
    // A word with the blanks before it, which indent a line and part words.
    const std::size_t from = std::min(text.find_first_not_of(' ', at), text.size());
    const std::size_t to = std::min(text.find_first_of(" \n", from), text.size());
    const std::string_view blanks = text.substr(at, from - at), word = text.substr(from, to - from);
    at = to;
    if (word.empty()) continue;
    if (!fresh && used + blanks.size() + columns_of(word) > width) {
      out += "\n" + margin;
      used = indent;
    } else {
      out += blanks;
      used += blanks.size();
    }
    out += word;
    used += columns_of(word);
    fresh = false;
  }
  return out;
}

}  // namespace weft
