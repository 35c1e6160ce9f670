// Text for terminals of a given width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// What every table and page of the command line fits in.
inline constexpr std::size_t kPageColumns = 100;

// Columns a UTF-8 text takes, every code point counted as one.
std::size_t columns_of(std::string_view text);

// Of the longest line.
std::size_t widest_line(std::string_view text);

// The text in lines of at most `width` columns, broken at blanks. Lines after the first begin with
// `indent` blanks; `used` columns of the first are taken. Line breaks of the text are kept, and so
// is a word that is longer than a line.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0,
                    std::size_t used = 0);

}  // namespace weft
