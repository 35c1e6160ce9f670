// Text tables for terminals: numbers to the right, names to the left, nothing cut.
#pragma once

#include <string>
#include <vector>

namespace weft {

class Table {
 public:
  // A heading that starts with '<' makes a left-aligned column (the sign is not shown).
  explicit Table(std::vector<std::string> headings);
  void row(std::vector<std::string> cells);
  std::string text() const;
  std::string markdown() const;
  std::string csv() const;
  // A table element; cells are shown as text whatever they hold.
  std::string html() const;

 private:
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
