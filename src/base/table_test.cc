#include "base/table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft {
namespace {

TEST(Table, NumbersToTheRightNamesToTheLeft) {
  Table table({"<policy", "mean s"});
  table.row({"fifo", "6210"});
  table.row({"2d-las ✓", "5"});
  EXPECT_EQ(table.text(),
            "policy    mean s\n"
            "fifo        6210\n"
            "2d-las ✓       5\n");
  EXPECT_EQ(table.markdown(),
            "| policy | mean s |\n|---|---:|\n| fifo | 6210 |\n| 2d-las ✓ | 5 |\n");
}

TEST(Table, HeadingsOfTwoLinesStandAboveTheRows) {
  Table table({"<policy", "mean\nJCT s"});
  table.row({"fifo", "6210"});
  EXPECT_EQ(table.text(),
            "         mean\n"
            "policy  JCT s\n"
            "fifo     6210\n");
  EXPECT_EQ(table.csv(), "policy,mean JCT s\nfifo,6210\n");
}

TEST(Table, TheLastColumnIsWrappedToALimit) {
  Table table({"<job", "n", "<why"});
  table.row({"a", "1", "it waits for devices that others hold"});
  table.row({"b", "22", ""});
  EXPECT_EQ(table.text(30),
            "job   n  why\n"
            "a     1  it waits for devices\n"
            "         that others hold\n"
            "b    22\n");
}

TEST(Table, CsvQuotesWhatWouldBreakIt) {
  Table table({"<a", "b"});
  table.row({"x,y", "say \"no\""});
  EXPECT_EQ(table.csv(), "a,b\n\"x,y\",\"say \"\"no\"\"\"\n");
}

TEST(ThreeDigits, Table) {
  const std::vector<std::pair<double, const char*>> table = {
      {0, "0"},
      {6213.998, "6214"},
      {0.8234, "0.823"},
      {12.34, "12.3"},
      {123.4, "123"},
      {-1.5, "-1.50"},
      {0.00123, "0.00123"},
      {1e-5, "1.00e-05"},
      {123456.7, "123457"},
      {2.5e8, "2.50e+08"},
      {std::nan(""), "-"},
      {INFINITY, "-"},
  };
  for (const auto& [value, want] : table) EXPECT_EQ(three_digits(value), want) << value;
}

TEST(ThreeDigits, RoundingUpDoesNotAddADigit) {
  EXPECT_EQ(three_digits(9.996), "10.0");
  EXPECT_EQ(three_digits(99.96), "100");
  EXPECT_EQ(three_digits(0.9996), "1.00");
}

TEST(Table, HtmlShowsWhateverCellsHold) {
  Table table({"<name", "value"});
  table.row({"<b>&\"", "1"});
  EXPECT_EQ(table.html(),
            "<table>\n<tr><th class=\"left\">name</th><th>value</th></tr>\n"
            "<tr><td class=\"left\">&lt;b>&amp;&quot;</td><td>1</td></tr>\n</table>\n");
}

}  // namespace
}  // namespace weft
