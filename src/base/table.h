// Text tables for terminals: numbers to the right, names to the left, nothing cut.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft {

class Table {
 public:
  // A heading that starts with '<' makes a left-aligned column (the sign is not shown). A line
  // break in a heading is a blank in every form but text.
  explicit Table(std::vector<std::string> headings);
  void row(std::vector<std::string> cells);
  // Within `limit` columns, as far as wrapping the last column suffices and if that is
  // left-aligned; 0: as wide as it gets.
  std::string text(std::size_t limit = 0) const;
  std::string markdown() const;
  std::string csv() const;
  // A table element; cells are shown as text whatever they hold.
  std::string html() const;

 private:
  std::vector<std::size_t> widths(std::size_t limit) const;
  std::vector<std::string> plain_headings() const;

  std::vector<std::string> headings_;
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;
};

// A cell of a CSV file, in quotes where it needs them (RFC 4180).
std::string csv_cell(const std::string& cell);

// Text inside an element or a quoted attribute of HTML or SVG.
std::string escaped_text(const std::string& text);

// Three significant digits, no exponent between 0.001 and 10 million: "6210", "0.823", "12.3".
std::string three_digits(double value);

}  // namespace weft
