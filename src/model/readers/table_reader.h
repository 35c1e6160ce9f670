// Rows of a delimited file with named columns: values in range, or a complaint with file, line,
// value and limit.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/delimited.h"
#include "base/result.h"
#include "base/units.h"

namespace weft {

// A text and the name under which complaints speak of it.
struct TextFile {
  std::string path;
  std::string_view text;
};

// From `low` to `high`; with `above`, `low` itself is refused.
struct Limits {
  double low = 0, high = 0;
  bool above = false;

  bool admits(double value) const { return (above ? value > low : value >= low) && value <= high; }
  std::string text() const;
};

inline constexpr Limits kMemoryLimits{0, 1e6};     // GiB
inline constexpr Limits kBandwidthLimits{0, 1e9};  // GB/s or Gbit/s
inline constexpr double kGigabit = 1e9 / 8;        // bytes

Bytes gibibytes(double gib);

// "path:line: sentence", spelled out only while complaints are still shown.
void complain(Complaints& complaints, const std::string& path, long line,
              std::string_view sentence);

// "; did you mean 'x'?" when a known name is close to `name`, else nothing.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

// Refuses an empty text and bytes that are no text, which every reader would trip over.
Status check_is_text(const TextFile& file);

// Walks the rows. A row that is malformed or has another number of columns than the header is
// complained about and passed over; so are values out of range, for which a harmless value in range
// is returned, so that one pass finds every mistake.
// Requires: the text and the complaints outlive the reader.
class TableReader {
 public:
  // The first record is the header.
  TableReader(const TextFile& file, DelimitedOptions options, Complaints& complaints);
  // No header: columns are named by `names`.
  TableReader(const TextFile& file, DelimitedOptions options, Complaints& complaints,
              std::vector<std::string> names);

  const std::vector<std::string>& names() const { return names_; }
  // Index of a column; -1: the table has none of that name.
  int column(std::string_view name) const;
  // Complains, once, of every name that is not a column. Returns whether all were there.
  bool require(std::initializer_list<std::string_view> names);
  // Complains of columns that are not in `known`, with the nearest known name.
  void refuse_unknown(const std::vector<std::string>& known);

  // Moves to the next usable row.
  bool next();
  long line() const { return scanner_.line(); }
  // Rows passed so far, counted from 0, bad ones included.
  long row() const { return row_; }

  // Trimmed; empty when `column` is -1.
  std::string_view text(int column) const;
  // An empty cell gives nothing (the optional forms) or a complaint (the others).
  double number(int column, const Limits& limits);
  std::optional<double> optional_number(int column, const Limits& limits);
  std::int64_t integer(int column, std::int64_t low, std::int64_t high);
  std::optional<std::int64_t> optional_integer(int column, std::int64_t low, std::int64_t high);
  std::optional<bool> optional_flag(int column);

  // Complains about the current row.
  void complain(std::string_view sentence);
  // "column is 'value'; it must be `wanted`" about the current row.
  void refuse(int column, std::string_view wanted);

 private:
  std::string path_;
  Complaints& complaints_;
  DelimitedScanner scanner_;
  std::vector<std::string> names_;
  long header_line_ = 1;
  long row_ = -1;
};

// Reads an integer that may be written with a fraction of zero, as table tools do ("8.0").
std::optional<std::int64_t> parse_integral(std::string_view text);

}  // namespace weft
