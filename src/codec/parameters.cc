#include "codec/parameters.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weft::codec {
namespace {

template <typename Number>
bool read_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end;
}

}  // namespace

Result<Parameters> Parameters::parse(std::string_view text, bool carrier) {
  Parameters parsed;
  parsed.carrier_ = carrier;
  const auto colon = text.find(':');
  parsed.name_ = parsed.text_ = std::string(text.substr(0, colon));
  if (colon == std::string_view::npos) return parsed;
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const auto equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == item.size()) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("codec '{}' has '{}'; a parameter is key=value", text, item),
                   "for example int8:block=512,ef=0"};
    }
    const std::string key(item.substr(0, equals));
    for (const auto& [known, value] : parsed.given_) {
      if (known == key) {
        return Error{ErrorKind::kInvalidInput, fmt::format("codec '{}' names {} twice", text, key),
                     ""};
      }
    }
    parsed.given_.emplace_back(key, item.substr(equals + 1));
    if (comma == std::string_view::npos) return parsed;
    rest = rest.substr(comma + 1);
  }
}

const std::string* Parameters::given(const std::string& key) {
  asked_.push_back(key);
  for (const auto& [known, value] : given_) {
    if (known == key) return &value;
  }
  return nullptr;
}

void Parameters::tell(const std::string& key, const std::string& value) {
  text_ += (asked_.size() == 1 ? ":" : ",") + key + "=" + value;
}

std::int64_t Parameters::integer(const std::string& key, std::int64_t otherwise, std::int64_t least,
                                 std::int64_t most) {
  std::int64_t value = otherwise;
  const std::string* text = given(key);
  if (text != nullptr && (!read_number(*text, value) || value < least || value > most)) {
    complain(fmt::format("{}: {} is {}; it must be a whole number from {} to {}", name_, key, *text,
                         least, most));
    value = otherwise;
  }
  tell(key, fmt::format("{}", value));
  return value;
}

double Parameters::number(const std::string& key, double otherwise, double least, double most) {
  double value = otherwise;
  const std::string* text = given(key);
  if (text != nullptr && (!read_number(*text, value) || !(value >= least && value <= most))) {
    complain(fmt::format("{}: {} is {}; it must be a number from {} to {}", name_, key, *text,
                         least, most));
    value = otherwise;
  }
  std::string written = fmt::format("{}", value);
  std::erase(written, '+');  // of 1e+20; a plus begins the carrier
  tell(key, written);
  return value;
}

bool Parameters::flag(const std::string& key, bool otherwise) {
  return integer(key, otherwise ? 1 : 0, 0, 1) == 1;
}

std::string Parameters::word(const std::string& key, const std::string& otherwise,
                             const std::vector<std::string>& words) {
  const std::string* text = given(key);
  std::string value = otherwise;
  if (text != nullptr) {
    if (std::find(words.begin(), words.end(), *text) != words.end()) {
      value = *text;
    } else {
      complain(fmt::format("{}: {} is {}; it must be one of {}", name_, key, *text,
                           fmt::join(words, ", ")));
    }
  }
  tell(key, value);
  return value;
}

Status Parameters::end() {
  for (const auto& [key, value] : given_) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    const std::string near = near_miss(key, asked_);
    complain(fmt::format("{} has no parameter '{}'{}", name_, key,
                         near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }
  if (complaints_.empty()) return {};
  return complaints_.error(asked_.empty()
                               ? fmt::format("{} takes no parameters", name_)
                               : fmt::format("{} knows {}", name_, fmt::join(asked_, ", ")));
}

}  // namespace weft::codec
