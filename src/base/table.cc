#include "base/table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace weft {
namespace {

// Columns a UTF-8 text takes, every code point counted as one.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

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

std::string Table::text() const {
  std::vector<size_t> widths;
  for (const std::string& heading : headings_) widths.push_back(width_of(heading));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string pad(widths[i] - width_of(cells[i]), ' ');
      text += i == 0 ? "" : "  ";
      text += left_[i] ? cells[i] + pad : pad + cells[i];
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  };
  line(headings_);
  for (const auto& row : rows_) line(row);
  return out;
}

std::string Table::markdown() const {
  std::string out = fmt::format("| {} |\n|", fmt::join(headings_, " | "));
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
  line(headings_);
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
  line(headings_, "th");
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
