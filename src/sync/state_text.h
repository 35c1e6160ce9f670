// Saved states as text: a first line with name and version, lines of a word and numbers, and a last
// line with a checksum over all before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::sync {

// `body` with its checksum line.
std::string seal(std::string body);

// Reads lines in the order in which they were written. The first mistake is kept, and everything
// after it is harmless: numbers read as `low`, lists as empty.
class StateReader {
 public:
  // `heading`: the first line. Checks it and the checksum.
  StateReader(std::string_view text, std::string_view heading);

  // The rest of the next line, which must begin with `word`.
  std::string_view line(std::string_view word);
  std::uint64_t whole(std::string_view word, std::uint64_t low, std::uint64_t high);
  double number(std::string_view word);
  std::vector<double> numbers(std::string_view word, std::size_t at_most);
  // Numbers that must be whole and lie in a range.
  std::vector<std::uint64_t> wholes(std::string_view word, std::size_t at_most, std::uint64_t high);
  // Keeps a mistake found by the caller.
  void refuse(std::string what);
  // Also when lines are left over.
  std::optional<Error> finish();

 private:
  std::string_view rest_;
  std::optional<Error> error_;
};

inline constexpr std::uint64_t kMostInState = std::uint64_t{1} << 53;  // exact in a double

}  // namespace weft::sync
