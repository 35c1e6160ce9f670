// Tables as text: comma- or tab-separated records, scanned in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct DelimitedOptions {
  char delimiter = ',';
  bool quotes = true;   // RFC 4180: "a,b", with "" for a quote inside; may span lines
  char comment = '\0';  // records beginning with it are skipped; '\0': none
};

// Walks the records of a text. Lines end in LF or CRLF; blank lines and a byte-order mark are
// skipped. Reads no byte outside the text.
// Requires: the text outlives the scanner and what fields() returned.
// Cost: O(bytes); no allocation per record but for fields that hold a doubled quote.
class DelimitedScanner {
 public:
  explicit DelimitedScanner(std::string_view text, DelimitedOptions options = {});

  // Moves to the next record; false at the end of the text.
  bool next();
  // Of the current record, until the next call of next().
  std::span<const std::string_view> fields() const { return fields_; }
  // Line, from 1, on which the current record begins.
  long line() const { return record_line_; }
  // Why the current record is not well-formed (a quote that never closes), or empty.
  std::string_view problem() const { return problem_; }

 private:
  void split(std::string_view record);
  void split_quoted();
  std::string_view quoted_field();

  const char* at_;
  const char* end_;
  DelimitedOptions options_;
  long next_line_ = 1;
  long record_line_ = 0;
  std::string_view problem_;
  std::vector<std::string_view> fields_;
  std::deque<std::string> unescaped_;  // a deque: growing must not move the strings
};

std::string_view trimmed(std::string_view text);

// The whole of the text, less blanks around it, as a number; nothing when it is not one, does not
// fit the type, is NaN or is infinite.
std::optional<double> parse_number(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);

// The line (from 1) and a description of the first byte that no text file holds: not UTF-8, or NUL.
struct BadByte {
  long line = 0;
  std::string what;
};
std::optional<BadByte> find_bad_byte(std::string_view text);

// Shortens a value for an error message and makes its control characters visible.
std::string shown(std::string_view value);

}  // namespace weft
