// The requests of the interface, one row each. A new one is a row in routes.cc, a handler declared
// here and written where it belongs, and an entry in share/weft/openapi.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "live/daemon/api.h"

namespace weft::live {

// Who may make a request.
enum class Need : std::uint8_t {
  kUser,      // everybody who is known
  kOwner,     // whoever submitted {job}, and administrators
  kOperator,  // of nodes: operators and administrators
  kAdmin,
  kNode  // an invited node
};

enum class QueryKind : std::uint8_t { kText, kNumber, kFlag };
struct QueryField {
  const char* name;
  QueryKind kind;
};

inline constexpr std::size_t kNoBody = 0, kSmallBody = 64 << 10, kJobBody = 4 << 20;

using ApiHandler = void (*)(ApiParts&, const ApiCall&);

struct Route {
  const char* method;
  // Words between slashes; {job} stands for a job's uuid, its beginning or its name and {node} for
  // a node's name: both are looked up, 404 if there is none. {id} is for the handler to look up.
  const char* pattern;
  Need need;
  ApiHandler handler;
  std::vector<QueryField> query = {};  // others are refused
  std::size_t most_body = kNoBody;     // bytes
};

const std::vector<Route>& routes();

// A target taken apart: the words of its path and its query, percent signs decoded.
struct ApiTarget {
  std::vector<std::string> words;
  std::map<std::string, std::string> query;
};
std::optional<ApiTarget> parse_target(std::string_view target);
// Do the words fit the pattern? {…} fits any word that is not empty.
bool fits(std::string_view pattern, const std::vector<std::string>& words);

namespace handlers {
// api.cc
void submit_job(ApiParts&, const ApiCall&);
void list_jobs(ApiParts&, const ApiCall&);
void show_job(ApiParts&, const ApiCall&);
void cancel_job(ApiParts&, const ApiCall&);
void signal_job(ApiParts&, const ApiCall&);
void job_log(ApiParts&, const ApiCall&);
void list_nodes(ApiParts&, const ApiCall&);
void drain_node(ApiParts&, const ApiCall&);
void undrain_node(ApiParts&, const ApiCall&);
void fence_node(ApiParts&, const ApiCall&);
// api_execs.cc
void exec_job(ApiParts&, const ApiCall&);
void exec_output(ApiParts&, const ApiCall&);
void exec_input(ApiParts&, const ApiCall&);
void exec_size(ApiParts&, const ApiCall&);
void end_exec(ApiParts&, const ApiCall&);
// api_notes.cc
void write_note(ApiParts&, const ApiCall&);
// api_reservations.cc
void reserve_node(ApiParts&, const ApiCall&);
void open_node(ApiParts&, const ApiCall&);
void notice_node(ApiParts&, const ApiCall&);
// api_forecast.cc
void explain_job(ApiParts&, const ApiCall&);
void set_policy(ApiParts&, const ApiCall&);
// api_health.cc
void list_events(ApiParts&, const ApiCall&);
void status(ApiParts&, const ApiCall&);
void metrics(ApiParts&, const ApiCall&);
void down(ApiParts&, const ApiCall&);
// api_stream.cc, api_usage.cc
void stream_events(ApiParts&, const ApiCall&);
void usage(ApiParts&, const ApiCall&);
// api_tokens.cc
void create_token(ApiParts&, const ApiCall&);
void list_tokens(ApiParts&, const ApiCall&);
void revoke_token(ApiParts&, const ApiCall&);
void invite_node(ApiParts&, const ApiCall&);
void join_node(ApiParts&, const ApiCall&);
}  // namespace handlers

}  // namespace weft::live
