#include "daemon_client.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "live/daemon/daemon.h"

namespace weft {
namespace {

using Json = nlohmann::json;

Result<Json> parsed(const live::HttpReply& reply) {
  const Json json = Json::parse(reply.body, nullptr, false);
  if (!json.is_object()) {
    return Error{ErrorKind::kIo,
                 fmt::format("the daemon said what is no JSON object: {}", reply.body), ""};
  }
  if (reply.status >= 400) {
    return Error{reply.status == 404 ? ErrorKind::kNotFound : ErrorKind::kInvalidInput,
                 json.value("error", "refused"), json.value("hint", "")};
  }
  return json;
}

}  // namespace

DaemonClient::DaemonClient(const std::string& store) {
  auto at = live::endpoint_of(store, live::default_store());
  if (at.ok()) {
    client_.emplace(std::move(*at));
  } else {
    wrong_ = at.error();
  }
}

Result<Json> DaemonClient::ask(const std::string& method, const std::string& target) {
  return ask_text(method, target, "");
}

Result<Json> DaemonClient::ask(const std::string& method, const std::string& target,
                               const Json& body) {
  return ask_text(method, target, body.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<Json> DaemonClient::ask_text(const std::string& method, const std::string& target,
                                    const std::string& body) {
  if (wrong_) return *wrong_;
  const auto reply = client_->ask(method, target, body);
  if (!reply.ok()) return reply.error();
  return parsed(*reply);
}

Status DaemonClient::follow(const std::string& method, const std::string& target,
                            const std::string& body,
                            const std::function<bool(std::string_view line)>& each,
                            const std::string& last_event_id) {
  if (wrong_) return *wrong_;
  std::string rest;
  const auto reply = client_->follow(
      method, target, body,
      [&](std::string_view piece) {
        rest += piece;
        std::size_t from = 0, to = 0;
        for (; (to = rest.find('\n', from)) != std::string::npos; from = to + 1) {
          if (!each(std::string_view(rest).substr(from, to - from))) return false;
        }
        rest.erase(0, from);
        return true;
      },
      last_event_id);
  if (!reply.ok()) return reply.error();
  if (reply->status < 400) return {};
  const auto refused = parsed(*reply);
  return refused.ok() ? Status{} : Status(refused.error());
}

std::string in_path(std::string_view word) {
  std::string out;
  for (const char c : word) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace weft
