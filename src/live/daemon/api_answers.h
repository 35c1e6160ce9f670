// Answers and questions of the interface in the form they have on the wire.
#pragma once

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

// May the caller do with the job what its owner may?
inline bool owns(const Caller& caller, const JobView& job) {
  return caller.may(Role::kAdmin) || caller.uid == job.identity.uid;
}

// A job and a line of the story as they are shown.
nlohmann::json view_of(const ApiParts& parts, const JobView& job);
nlohmann::json view_of(const StoryLine& line);

}  // namespace weft::live
