#include "base/wrap.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

TEST(Wrap, BreaksAtBlanks) {
  struct WrapRow {
    const char* why;
    std::string text;
    std::size_t width, indent, used;
    std::string want;
  };
  const std::vector<WrapRow> table = {
      {"nothing is nothing", "", 10, 2, 0, ""},
      {"what fits stays", "one two", 7, 2, 0, "one two"},
      {"what does not fit goes to the next line", "one two", 6, 2, 0, "one\n  two"},
      {"columns that are taken count", "one two", 9, 0, 4, "one\ntwo"},
      {"a long word stands whole", "a incomprehensible b", 6, 0, 0, "a\nincomprehensible\nb"},
      {"line breaks are kept", "a\nb c", 10, 1, 0, "a\n b c"},
      {"blanks that indent a line are kept", "x:\n  y", 10, 0, 0, "x:\n  y"},
      {"no blanks are left at the end of a line", "one   two", 5, 0, 0, "one\ntwo"},
      {"a code point is one column", "µµµ µµµ", 7, 0, 0, "µµµ µµµ"},
  };
  for (const WrapRow& row : table) {
    EXPECT_EQ(wrapped(row.text, row.width, row.indent, row.used), row.want) << row.why;
  }
}

TEST(Wrap, CountsCodePoints) {
  EXPECT_EQ(columns_of("± 1 µs ✓"), 8u);
  EXPECT_EQ(widest_line("a\nµµµ\n\nbb"), 3u);
  EXPECT_EQ(widest_line(""), 0u);
}

}  // namespace
}  // namespace weft
