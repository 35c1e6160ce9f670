#include "base/table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/wrap.h"

namespace weft {

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {
  for (std::string& heading : headings_) {
    left_.push_back(heading.starts_with('<'));
    if (left_.back()) heading.erase(0, 1);
  }
}

void Table::row(std::vector<std::string> cells) {
  CHECK(cells.size() == headings_.size());
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::widths(size_t limit) const {
  std::vector<size_t> widths(headings_.size(), 0);
  for (size_t i = 0; i < headings_.size(); ++i) widths[i] = widest_line(headings_[i]);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], widest_line(row[i]));
  }
  if (limit > 0 && !widths.empty() && left_.back()) {
    constexpr size_t kLeast = 20;  // columns in which words can still be read
    size_t others = 0;
    for (size_t i = 0; i + 1 < widths.size(); ++i) others += widths[i] + 2;
    widths.back() = std::min(widths.back(), std::max(kLeast, limit - std::min(limit, others)));
  }
  return widths;
}

std::string Table::text(size_t limit) const {
  const std::vector<size_t> widths = this->widths(limit);
  std::string out;
  // Line `n` of each cell; false when all cells are through.
  const auto line = [&](std::vector<std::string>& cells, bool first) {
    std::string text;
    bool more = false;
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t end = std::min(cells[i].find('\n'), cells[i].size());
      const std::string cell = cells[i].substr(0, end);
      more = more || end < cells[i].size();
      cells[i].erase(0, end + 1);
      const std::string pad(widths[i] - std::min(widths[i], columns_of(cell)), ' ');
      text += i == 0 ? "" : "  ";
      text += left_[i] ? cell + pad : pad + cell;
    }
    const size_t end = text.find_last_not_of(' ') + 1;
    if (first || end > 0) out += text.substr(0, end) + '\n';
    return more;
  };
  const auto print = [&](std::vector<std::string> cells, bool at_bottom) {
    if (limit > 0 && left_.back()) cells.back() = wrapped(cells.back(), widths.back());
    if (at_bottom) {  // headings of one line stand above the rows, not above other headings
      size_t most = 0;
      const auto breaks = [](const std::string& c) { return std::count(c.begin(), c.end(), '\n'); };
      for (const std::string& c : cells) most = std::max(most, static_cast<size_t>(breaks(c)));
      for (std::string& c : cells) c.insert(0, most - static_cast<size_t>(breaks(c)), '\n');
    }
    for (bool first = true; line(cells, first); first = false) {
    }
  };
  print(headings_, true);
  for (const auto& row : rows_) print(row, false);
  return out;
}

std::vector<std::string> Table::plain_headings() const {
  std::vector<std::string> plain = headings_;
  for (std::string& heading : plain) std::replace(heading.begin(), heading.end(), '\n', ' ');
  return plain;
}

std::string Table::markdown() const {
  std::string out = fmt::format("| {} |\n|", fmt::join(plain_headings(), " | "));
  for (bool left : left_) out += left ? "---|" : "---:|";
  out += '\n';
  for (const auto& row : rows_) out += fmt::format("| {} |\n", fmt::join(row, " | "));
  return out;
}

std::string Table::csv() const {
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : ",") + csv_cell(cells[i]);
    out += '\n';
  };
  line(plain_headings());
  for (const auto& row : rows_) line(row);
  return out;
}

std::string escaped_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Table::html() const {
  std::string out = "<table>\n";
  const auto line = [&](const std::vector<std::string>& cells, const char* tag) {
    out += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      out += fmt::format("<{}{}>{}</{}>", tag, left_[i] ? " class=\"left\"" : "",
                         escaped_text(cells[i]), tag);
    }
    out += "</tr>\n";
  };
  line(plain_headings(), "th");
  for (const auto& row : rows_) line(row, "td");
  return out + "</table>\n";
}

std::string three_digits(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e7 || size < 1e-3) return fmt::format("{:.2e}", value);
  // The power of ten after rounding: 9.996 has that of 10.0.
  const std::string rounded = fmt::format("{:.2e}", size);
  const int power = std::stoi(rounded.substr(rounded.find('e') + 1));
  return fmt::format("{:.{}f}", value, std::clamp(2 - power, 0, 5));
}

}  // namespace weft
