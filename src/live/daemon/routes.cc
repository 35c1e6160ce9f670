#include "live/daemon/routes.h"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <exception>

#include "live/daemon/api_answers.h"
#include "live/job/job_text.h"

namespace weft::live {
namespace {

constexpr std::size_t kMostWords = 16;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

bool is_whole_number(const std::string& text) {
  return !text.empty() && text.size() <= 18 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// What is wrong with the query, or nothing.
std::string wrong_in(const std::map<std::string, std::string>& query, const Route& route) {
  for (const auto& [name, value] : query) {
    const auto field = std::find_if(route.query.begin(), route.query.end(),
                                    [&](const QueryField& f) { return f.name == name; });
    if (field == route.query.end()) return fmt::format("no parameter '{}' is known here", name);
    if (field->kind == QueryKind::kNumber && !is_whole_number(value)) {
      return fmt::format("{} is '{}'; it must be a whole number", name, value);
    }
    if (field->kind == QueryKind::kFlag && value != "1" && value != "0" && !value.empty()) {
      return fmt::format("{} is '{}'; it must be 1 or 0", name, value);
    }
  }
  return "";
}

// The word that stands for {name}, or nothing.
const std::string* word_for(const Route& route, const std::vector<std::string>& words,
                            std::string_view name) {
  const auto pattern = split_text(std::string_view(route.pattern).substr(1), '/');
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == name) return &words[i];
  }
  return nullptr;
}

// A request's row in the table, or why it has none.
struct Row {
  const Route* route = nullptr;
  ApiTarget target;
  ApiAnswer refused = {};
};

Row row_of(const std::string& method, const std::string& asked) {
  auto target = parse_target(asked);
  if (!target) return {nullptr, {}, error_answer(400, "the address is malformed")};
  std::string allow;
  for (const Route& route : routes()) {
    if (!fits(route.pattern, target->words)) continue;
    if (method == route.method) return {&route, std::move(*target)};
    allow += (allow.empty() ? "" : ", ") + std::string(route.method);
  }
  if (allow.empty()) {
    return {nullptr, {}, error_answer(404, "no such address", "addresses begin with /v1/")};
  }
  ApiAnswer refused = error_answer(405, fmt::format("{} is known here", allow));
  refused.headers.emplace_back("Allow", allow);
  return {nullptr, {}, refused};
}

std::optional<ApiAnswer> may_not(const Route& route, const Caller& caller) {
  const auto [needed, who] = [&]() -> std::pair<Role, const char*> {
    switch (route.need) {
      case Need::kAdmin:
        return {Role::kAdmin, "an administrator"};
      case Need::kOperator:
        return {Role::kOperator, "an operator"};
      case Need::kNode:
        return {Role::kNode, "an invited node"};
      default:
        return {Role::kUser, "a user"};
    }
  }();
  if (caller.may(needed)) return std::nullopt;
  return error_answer(403, fmt::format("only {} may do that", who));
}

// Fills in what the pattern names; an answer if there is none, or the caller does not own it.
std::optional<ApiAnswer> look_up(const ApiParts& parts, const Route& route,
                                 const std::vector<std::string>& words, ApiCall& call) {
  const Caller& caller = call.request.caller;
  if (const std::string* name = word_for(route, words, "{job}"); name != nullptr) {
    call.job = parts.board.find(*name);
    if (!call.job)
      return error_answer(404, fmt::format("no job '{}'", *name), "weft jobs --all lists them");
    if (route.need == Need::kOwner && !owns(caller, *call.job)) {
      return error_answer(403, fmt::format("{} belongs to {}, not to {}", call.job->name,
                                           call.job->identity.user, caller.user));
    }
  }
  if (const std::string* name = word_for(route, words, "{node}"); name != nullptr) {
    const std::vector<Node>& all = parts.cluster.nodes;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Node& node) { return node.name == *name; });
    if (found == all.end()) return error_answer(404, fmt::format("no node '{}'", *name));
    call.node = static_cast<NodeId>(found - all.begin());
  }
  if (const std::string* name = word_for(route, words, "{id}"); name != nullptr) call.id = *name;
  return std::nullopt;
}

}  // namespace

const std::vector<Route>& routes() {
  using enum QueryKind;
  using namespace handlers;
  static const std::vector<Route> table = {
      {"POST", "/v1/jobs", Need::kUser, submit_job, {}, kJobBody},
      {"GET", "/v1/jobs", Need::kUser, list_jobs, {{"all", kFlag}, {"user", kText}}},
      {"GET", "/v1/jobs/{job}", Need::kUser, show_job},
      {"POST", "/v1/jobs/{job}/cancel", Need::kOwner, cancel_job},
      {"POST", "/v1/jobs/{job}/signal", Need::kOwner, signal_job, {{"number", kNumber}}},
      {"GET",
       "/v1/jobs/{job}/logs",
       Need::kOwner,
       job_log,
       {{"rank", kNumber}, {"offset", kNumber}, {"replica", kText}}},
      {"GET", "/v1/jobs/{job}/explain", Need::kUser, explain_job},
      {"POST", "/v1/jobs/{job}/exec", Need::kOwner, exec_job, {}, kSmallBody},
      {"GET", "/v1/execs/{id}/output", Need::kUser, exec_output, {{"after", kNumber}}},
      {"POST",
       "/v1/execs/{id}/input",
       Need::kUser,
       exec_input,
       {{"offset", kNumber}, {"last", kFlag}},
       kSmallBody},
      {"POST",
       "/v1/execs/{id}/size",
       Need::kUser,
       exec_size,
       {{"rows", kNumber}, {"columns", kNumber}}},
      {"DELETE", "/v1/execs/{id}", Need::kUser, end_exec},
      {"POST", "/v1/policy", Need::kAdmin, set_policy, {}, kJobBody},
      {"GET", "/v1/nodes", Need::kUser, list_nodes},
      {"POST", "/v1/nodes/{node}/drain", Need::kOperator, drain_node},
      {"POST", "/v1/nodes/{node}/undrain", Need::kOperator, undrain_node},
      {"POST", "/v1/nodes/{node}/fence", Need::kOperator, fence_node},
      {"POST",
       "/v1/nodes/{node}/reserve",
       Need::kOperator,
       reserve_node,
       {{"from", kText}, {"to", kText}, {"for", kText}}},
      {"POST", "/v1/nodes/{node}/open", Need::kOperator, open_node, {{"number", kNumber}}},
      {"POST", "/v1/nodes/{node}/notice", Need::kOperator, notice_node, {{"in", kText}}},
      {"POST", "/v1/nodes/{node}/invite", Need::kAdmin, invite_node, {{"lasts", kNumber}}},
      {"POST", "/v1/nodes/{node}/join", Need::kNode, join_node},
      {"GET", "/v1/events", Need::kUser, list_events, {{"after", kNumber}}},
      {"POST", "/v1/notes", Need::kOperator, write_note, {}, kJobBody},
      {"GET", "/v1/events/stream", Need::kUser, stream_events, {{"after", kNumber}}},
      {"GET", "/v1/usage", Need::kUser, usage, {{"last", kNumber}, {"user", kText}}},
      {"GET", "/v1/status", Need::kUser, status},
      {"GET", "/metrics", Need::kUser, metrics},
      {"POST", "/v1/tokens", Need::kUser, create_token, {}, kSmallBody},
      {"GET", "/v1/tokens", Need::kUser, list_tokens},
      {"DELETE", "/v1/tokens/{id}", Need::kUser, revoke_token},
      {"POST", "/v1/down", Need::kAdmin, down, {{"now", kFlag}}},
  };
  return table;
}

std::optional<ApiTarget> parse_target(std::string_view target) {
  if (target.empty() || target[0] != '/') return std::nullopt;
  const std::size_t question = target.find('?');
  ApiTarget out;
  for (const std::string_view part : split_text(target.substr(1, question - 1), '/')) {
    auto word = decode(part);
    if (!word || out.words.size() == kMostWords) return std::nullopt;
    out.words.push_back(std::move(*word));
  }
  if (question == std::string_view::npos) return out;
  for (const std::string_view pair : split_text(target.substr(question + 1), '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = decode(pair.substr(0, equals));
    const auto value = decode(equals < pair.size() ? pair.substr(equals + 1) : "");
    if (!name || !value || !out.query.emplace(*name, *value).second) return std::nullopt;
  }
  return out;
}

bool fits(std::string_view pattern, const std::vector<std::string>& words) {
  const auto wanted = split_text(pattern.substr(1), '/');
  return std::equal(wanted.begin(), wanted.end(), words.begin(), words.end(),
                    [](std::string_view want, const std::string& word) {
                      return want.starts_with('{') ? !word.empty() : want == word;
                    });
}

std::uint64_t ApiCall::number(const std::string& name, std::uint64_t otherwise) const {
  const auto found = query.find(name);
  return found == query.end() ? otherwise : std::stoull(found->second);
}

std::string ApiCall::text(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

bool ApiCall::flag(const std::string& name) const {
  const auto found = query.find(name);
  return found != query.end() && found->second != "0";
}

Api::Api(ApiParts parts) : parts_(std::move(parts)) {
  parts_.board.each(
      [this](const JobView& job) { parts_.tenants.number_of(job.queue, job.tenant); });
}

Admission Api::admit(const HttpHead& head) {
  std::optional<Caller> caller = head.peer;
  if (!caller) caller = parts_.tokens.find(head.bearer, static_cast<Seconds>(std::time(nullptr)));
  if (!caller) {
    ApiAnswer unknown = error_answer(401, "a token is needed, and one that holds",
                                     "make one with `weft token create` where the daemon runs");
    unknown.headers.emplace_back("WWW-Authenticate", "Bearer");
    return {std::move(unknown), {}, 0};
  }
  Row row = row_of(head.method, head.target);
  if (row.route == nullptr) return {std::move(row.refused), {}, 0};
  if (auto refused = may_not(*row.route, *caller)) return {std::move(refused), {}, 0};
  return {std::nullopt, *caller, row.route->most_body};
}

void Api::handle(const ApiRequest& request, Answer answer) {
  Row row = row_of(request.method, request.target);
  if (row.route == nullptr) return answer(std::move(row.refused));
  const Route& route = *row.route;
  if (auto refused = may_not(route, request.caller)) return answer(*refused);
  if (request.body.size() > route.most_body) {
    return answer(error_answer(
        413, fmt::format("a body of {} bytes; at most {}", request.body.size(), route.most_body)));
  }
  ApiCall call{request, answer, std::move(row.target.query), {}, std::nullopt, kNoNode};
  if (auto refused = look_up(parts_, route, row.target.words, call)) return answer(*refused);
  if (const std::string wrong = wrong_in(call.query, route); !wrong.empty()) {
    return answer(error_answer(400, wrong));
  }
  try {
    route.handler(parts_, call);
  } catch (const std::exception& failed) {  // JSON throws; a daemon does not end for one request
    answer(error_answer(500, fmt::format("it failed: {}", failed.what())));
  }
}

}  // namespace weft::live
