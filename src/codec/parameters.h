// "name:key=value,key=value" as codecs read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace weft::codec {

// The parameters of one codec's text. A codec asks for each by name, with its default and limits,
// in a fixed order; what it asked for also makes its full text. Mistakes are gathered until end().
class Parameters {
 public:
  // Ensures: an error when the text is not of the form above or names a key twice.
  static Result<Parameters> parse(std::string_view text, bool carrier = false);

  // Whether the codec is to carry the values that another one chose, which keeps what is left over:
  // error feedback is then off unless asked for, and asking for it is a mistake.
  bool carrier() const { return carrier_; }

  const std::string& name() const { return name_; }
  std::int64_t integer(const std::string& key, std::int64_t otherwise, std::int64_t least,
                       std::int64_t most);
  double number(const std::string& key, double otherwise, double least, double most);
  bool flag(const std::string& key, bool otherwise);
  // One of `words`.
  std::string word(const std::string& key, const std::string& otherwise,
                   const std::vector<std::string>& words);
  // A mistake that only several parameters together make.
  void complain(std::string sentence) { complaints_.add(std::move(sentence)); }

  // Ensures: an error that names every mistake, also keys that nobody asked for.
  Status end();
  // The name with every parameter that was asked for.
  const std::string& text() const { return text_; }

 private:
  // The text given for `key`, or null; remembers that it was asked for.
  const std::string* given(const std::string& key);
  void tell(const std::string& key, const std::string& value);

  bool carrier_ = false;
  std::string name_, text_;
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<std::string> asked_;
  Complaints complaints_;
};

}  // namespace weft::codec
