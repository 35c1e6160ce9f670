// Tokens of callers on a network. Administrators give them to anybody; others make them for
// themselves, and only where the kernel says who they are, so that a token cannot outlive itself by
// making another.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "live/daemon/api_answers.h"
#include "live/daemon/routes.h"

namespace weft::live::handlers {
namespace {

using Json = nlohmann::json;

Json view_of_token(const Token& token) {
  return {{"id", token.id},
          {"role", kRoleNames[static_cast<int>(token.caller.role)]},
          {"user", token.caller.user},
          {"made_s", token.made_s},
          {"expires_s", token.expires_s > 0 ? Json(token.expires_s) : Json()}};
}

constexpr std::uint32_t kNobody = 65534;  // as whom nothing is ever run

// A new token with its secret, which nobody can be told again.
ApiAnswer shown_once(const Result<Tokens::Made>& made) {
  if (!made.ok()) return error_answer(503, made.error().text());
  Json view = view_of_token(made->token);
  view["token"] = made->secret;
  return json_answer(201, view);
}

struct Wish {
  Caller caller;
  Seconds lasts_s = 0;  // 0: for ever
};

// What the body asks for, or what is wrong with it.
Result<Wish> wish_of(const ApiRequest& request) {
  const auto wrong = [](std::string what) { return Error{ErrorKind::kInvalidInput, what, ""}; };
  const Json body = Json::parse(request.body, nullptr, false);
  if (!body.is_object()) return wrong("the body must be {\"role\": …, \"user\": …}");
  for (const auto& [name, value] : body.items()) {
    if (name != "role" && name != "user" && name != "lasts_s") {
      return wrong(fmt::format("no field '{}' is known; role, user and lasts_s are", name));
    }
  }
  const Json role = body.value("role", Json("user"));
  const Json user = body.value("user", Json(request.caller.user));
  const Json lasts = body.value("lasts_s", Json(0));
  const auto known = role.is_string() ? role_named(role.get<std::string>()) : std::nullopt;
  if (!known || *known == Role::kNode) return wrong("role must be user, operator or admin");
  const bool own = user == request.caller.user;
  auto caller = own                ? request.caller
                : user.is_string() ? user_named(user.get<std::string>())
                                   : std::nullopt;
  if (!caller) return wrong(fmt::format("no user {} is known on this machine", user.dump()));
  if (!lasts.is_number() || !std::isfinite(lasts.get<double>()) || lasts.get<double>() < 0) {
    return wrong("lasts_s must be a number of seconds from 0 on");
  }
  caller->role = *known;
  return Wish{*caller, lasts.get<double>()};
}

}  // namespace

void create_token(ApiParts& parts, const ApiCall& call) {
  const Caller& asks = call.request.caller;
  const auto wish = wish_of(call.request);
  if (!wish.ok()) return call.answer(error_answer(400, wish.error().what));
  const bool own = wish->caller.uid == asks.uid && wish->caller.role == Role::kUser;
  if (!asks.may(Role::kAdmin) && (!own || asks.by_token)) {
    return call.answer(error_answer(
        403, "only an administrator makes tokens for others, with other roles or by a token"));
  }
  const Seconds now = static_cast<Seconds>(std::time(nullptr));
  const auto made =
      parts.tokens.create(wish->caller, now, wish->lasts_s > 0 ? now + wish->lasts_s : 0);
  call.answer(shown_once(made));
}

void list_tokens(ApiParts& parts, const ApiCall& call) {
  const Caller& asks = call.request.caller;
  Json rows = Json::array();
  for (const Token& token : parts.tokens.list()) {
    if (asks.may(Role::kAdmin) || token.caller.uid == asks.uid) {
      rows.push_back(view_of_token(token));
    }
  }
  call.answer(json_answer(200, {{"tokens", rows}}));
}

void revoke_token(ApiParts& parts, const ApiCall& call) {
  const Caller& asks = call.request.caller;
  const std::vector<Token> all = parts.tokens.list();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Token& t) { return t.id == call.id; });
  // Of others' tokens nobody learns that they are there; a token ends none that may do more.
  const auto own = [&](const Token& t) {
    return t.caller.uid == asks.uid && (!asks.by_token || asks.may(t.caller.role));
  };
  if (found == all.end() || (!asks.may(Role::kAdmin) && !own(*found))) {
    return call.answer(error_answer(404, fmt::format("no token '{}'", call.id)));
  }
  const auto revoked = parts.tokens.revoke(call.id);
  if (!revoked.ok()) return call.answer(error_answer(503, revoked.error().text()));
  call.answer(json_answer(200, {{"revoked", true}}));
}

// A token for one node, once, so that whoever sets a machine up never sees the cluster's secret.
void invite_node(ApiParts& parts, const ApiCall& call) {
  constexpr std::uint64_t kUsual = 3600, kMost = 30 * 24 * 3600;
  const std::uint64_t lasts = call.number("lasts", kUsual);
  if (lasts < 1 || lasts > kMost) {
    return call.answer(
        error_answer(400, fmt::format("lasts is {} s; it must be from 1 to {}", lasts, kMost)));
  }
  const auto now = static_cast<Seconds>(std::time(nullptr));
  Caller node{kNobody, kNobody, parts.cluster.nodes[call.node].name, Role::kNode};
  const auto made = parts.tokens.create(node, now, now + static_cast<Seconds>(lasts));
  call.answer(shown_once(made));
}

void join_node(ApiParts& parts, const ApiCall& call) {
  const Caller& asks = call.request.caller;
  const std::string& node = parts.cluster.nodes[call.node].name;
  if (asks.role != Role::kNode || asks.user != node) {
    return call.answer(error_answer(403,
                                    fmt::format("only who was invited as {} may join as it", node),
                                    "make a token with `weft nodes invite`"));
  }
  // Used up before the secret goes out: of two that come with one token, one gets it.
  const auto used = parts.tokens.revoke(asks.token);
  if (!used.ok()) return call.answer(error_answer(503, used.error().text()));
  if (!*used) return call.answer(error_answer(409, "the invitation has been used"));
  call.answer(json_answer(
      200, {{"node", node}, {"secret", parts.fleet.secret().hex()}, {"port", parts.fleet.port()}}));
}

}  // namespace weft::live::handlers
