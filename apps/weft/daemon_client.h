// How verbs ask a daemon: JSON in, JSON out.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "live/http/client.h"

namespace weft {

class DaemonClient {
 public:
  // Of `store` if it is not empty, else of WEFT_URL, else of the usual store; mistakes in them show
  // when something is asked.
  explicit DaemonClient(const std::string& store);

  // A status of 400 and more is an error with what the daemon said; of 404, kNotFound.
  Result<nlohmann::json> ask(const std::string& method, const std::string& target);
  Result<nlohmann::json> ask(const std::string& method, const std::string& target,
                             const nlohmann::json& body);
  // An answer that comes piece by piece: its lines, until it ends or `each` returns false.
  Status follow(const std::string& method, const std::string& target, const std::string& body,
                const std::function<bool(std::string_view line)>& each,
                const std::string& last_event_id = "");

 private:
  Result<nlohmann::json> ask_text(const std::string& method, const std::string& target,
                                  const std::string& body);
  std::optional<Error> wrong_;
  std::optional<live::HttpClient> client_;
};

// For the path of a target: everything but letters, digits and -._~ with percent signs.
std::string in_path(std::string_view word);

}  // namespace weft
