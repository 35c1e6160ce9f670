#include "model/readers/table_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace weft {

Bytes gibibytes(double gib) { return static_cast<Bytes>(std::llround(gib * double{kGiB})); }

std::string Limits::text() const {
  return above ? fmt::format("above {:g} and at most {:g}", low, high)
               : fmt::format("from {:g} to {:g}", low, high);
}

void complain(Complaints& complaints, const std::string& path, long line,
              std::string_view sentence) {
  const bool read = complaints.count() < Complaints::kShown;
  complaints.add(read ? fmt::format("{}:{}: {}", path, line, sentence) : std::string());
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 64;  // no name is longer, and nearness costs length squared
  const std::string near = name.size() > kLongest ? "" : near_miss(std::string(name), known);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

Status check_is_text(const TextFile& file) {
  if (file.text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Error{ErrorKind::kInvalidInput, file.path + ": is empty", ""};
  }
  if (const auto bad = find_bad_byte(file.text)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}:{}: {}", file.path, bad->line, bad->what),
                 "traces and clusters are UTF-8 text; compressed files must be unpacked first"};
  }
  return {};
}

std::optional<std::int64_t> parse_integral(std::string_view text) {
  if (const auto integer = parse_integer(text)) return integer;
  const auto number = parse_number(text);
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!number || std::floor(*number) != *number || std::fabs(*number) > kExact) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

TableReader::TableReader(const TextFile& file, DelimitedOptions options, Complaints& complaints)
    : TableReader(file, options, complaints, {}) {
  if (!scanner_.next()) {
    weft::complain(complaints_, path_, 1, "holds no header row");
    return;
  }
  header_line_ = scanner_.line();
  constexpr std::size_t kMostColumns = 1000;
  if (scanner_.fields().size() > kMostColumns) {
    weft::complain(complaints_, path_, header_line_,
                   fmt::format("the header has {} columns; the limit is {}",
                               scanner_.fields().size(), kMostColumns));
    return;
  }
  for (const std::string_view name : scanner_.fields()) {
    if (column(trimmed(name)) >= 0 && !trimmed(name).empty()) {
      weft::complain(complaints_, path_, header_line_,
                     fmt::format("column {} is named twice", shown(trimmed(name))));
    }
    names_.emplace_back(trimmed(name));
  }
}

TableReader::TableReader(const TextFile& file, DelimitedOptions options, Complaints& complaints,
                         std::vector<std::string> names)
    : path_(file.path),
      complaints_(complaints),
      scanner_(file.text, options),
      names_(std::move(names)) {}

int TableReader::column(std::string_view name) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return static_cast<int>(i);
  }
  return -1;
}

bool TableReader::require(std::initializer_list<std::string_view> names) {
  bool all = true;
  for (const std::string_view name : names) {
    if (column(name) >= 0) continue;
    all = false;
    weft::complain(complaints_, path_, header_line_,
                   fmt::format("column '{}' is missing; the header has {}", name,
                               shown(fmt::format("{}", fmt::join(names_, ",")))));
  }
  return all;
}

void TableReader::refuse_unknown(const std::vector<std::string>& known) {
  for (const std::string& name : names_) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    weft::complain(complaints_, path_, header_line_,
                   fmt::format("column {} is not known{}", shown(name), did_you_mean(name, known)));
  }
}

bool TableReader::next() {
  while (scanner_.next()) {
    ++row_;
    if (!scanner_.problem().empty()) {
      complain(scanner_.problem());
    } else if (scanner_.fields().size() != names_.size()) {
      complain(fmt::format("the row has {} columns; {} are needed{}", scanner_.fields().size(),
                           names_.size(),
                           scanner_.fields().size() < names_.size()
                               ? " (a row that is cut off at the end of a file means that the file "
                                 "is not whole)"
                               : ""));
    } else {
      return true;
    }
  }
  return false;
}

std::string_view TableReader::text(int column) const {
  return column < 0 ? std::string_view() : trimmed(scanner_.fields()[static_cast<size_t>(column)]);
}

void TableReader::complain(std::string_view sentence) {
  weft::complain(complaints_, path_, scanner_.line(), sentence);
}

void TableReader::refuse(int column, std::string_view wanted) {
  CHECK(column >= 0);
  if (complaints_.count() >= Complaints::kShown) return complaints_.add({});
  complain(fmt::format("{} is {}; it must be {}", names_[static_cast<size_t>(column)],
                       shown(text(column)), wanted));
}

double TableReader::number(int column, const Limits& limits) {
  const auto value = parse_number(text(column));
  if (value && limits.admits(*value)) return *value;
  refuse(column, "a number " + limits.text());
  return limits.high;
}

std::optional<double> TableReader::optional_number(int column, const Limits& limits) {
  if (text(column).empty()) return std::nullopt;
  return number(column, limits);
}

std::int64_t TableReader::integer(int column, std::int64_t low, std::int64_t high) {
  const auto value = parse_integral(text(column));
  if (value && *value >= low && *value <= high) return *value;
  refuse(column, fmt::format("a whole number from {} to {}", low, high));
  return low;
}

std::optional<std::int64_t> TableReader::optional_integer(int column, std::int64_t low,
                                                          std::int64_t high) {
  if (text(column).empty()) return std::nullopt;
  return integer(column, low, high);
}

std::optional<bool> TableReader::optional_flag(int column) {
  const std::string_view value = text(column);
  if (value.empty()) return std::nullopt;
  if (value == "1" || value == "true" || value == "yes") return true;
  if (value == "0" || value == "false" || value == "no") return false;
  refuse(column, "true or false");
  return false;
}

}  // namespace weft
