// Fields of a JSON object that came from outside: typed, in range, and the first that is wrong is
// remembered.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace weft::live {

// The kind of every frame between an agent and the controller.
inline constexpr std::uint16_t kJsonFrame = 1;

class JsonFields {
 public:
  explicit JsonFields(const nlohmann::json& object) : object_(object) {
    if (!object.is_object()) complain("an object is expected");
  }

  // A missing field gives `otherwise`.
  std::int64_t whole(const char* name, std::int64_t least, std::int64_t most,
                     std::int64_t otherwise) {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return otherwise;
    if (value->is_number_integer() &&
        !(value->is_number_unsigned() && value->get<std::uint64_t>() > kMostWhole)) {
      const auto number = value->get<std::int64_t>();
      if (number >= least && number <= most) return number;
    }
    complain(fmt::format("{} must be a whole number from {} to {}", name, least, most));
    return otherwise;
  }
  double number(const char* name, double least, double most, double otherwise) {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return otherwise;
    if (value->is_number()) {
      const double number = value->get<double>();
      if (number >= least && number <= most) return number;
    }
    complain(fmt::format("{} must be a number from {:g} to {:g}", name, least, most));
    return otherwise;
  }
  std::string text(const char* name, std::string otherwise = "") {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return otherwise;
    // A zero byte would cut what the kernel sees from what we have checked.
    if (value->is_string() &&
        value->get_ref<const std::string&>().find('\0') == std::string::npos) {
      return value->get<std::string>();
    }
    complain(fmt::format("{} must be a text without zero bytes", name));
    return otherwise;
  }
  const nlohmann::json* find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  void complain(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
  }
  // Empty when all was right.
  const std::string& wrong() const { return wrong_; }
  Error error() const { return {ErrorKind::kInvalidInput, wrong_, ""}; }

  static constexpr std::uint64_t kMostWhole = std::uint64_t{1} << 62;

 private:
  const nlohmann::json& object_;
  std::string wrong_;
};

}  // namespace weft::live
