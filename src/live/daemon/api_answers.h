// Answers and questions of the interface in the form they have on the wire.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "live/daemon/api.h"

namespace weft::live {

inline ApiAnswer json_answer(int status, const nlohmann::json& body) {
  return {status, body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
          "application/json"};
}

inline ApiAnswer error_answer(int status, const std::string& what, const std::string& hint = "") {
  nlohmann::json body = {{"error", what}};
  if (!hint.empty()) body["hint"] = hint;
  return json_answer(status, body);
}

inline nlohmann::json maybe(Seconds at) {
  return at == kNever ? nlohmann::json() : nlohmann::json(at);
}

// A whole number of the query, or `otherwise`.
inline std::uint64_t number_of(const std::map<std::string, std::string>& query, const char* name,
                               std::uint64_t otherwise) {
  const auto found = query.find(name);
  if (found == query.end() || found->second.empty() || found->second.size() > 18) return otherwise;
  std::uint64_t number = 0;
  for (const char c : found->second) {
    if (c < '0' || c > '9') return otherwise;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

}  // namespace weft::live
