// Requests that nobody should make: malformed, oversized, of nobody and forged. Each is refused
// with the right status, changes nothing and breaks nothing.
#include <gtest/gtest.h>

#include <algorithm>

#include "live/http/raw_testing.h"
#include "tests/live/up_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;

enum class From { kOwner, kNobody, kUser, kOperator, kAdmin };

struct Hostile {
  const char* what;
  From from;
  std::string bytes;  // TOKEN is replaced by the caller's
  int status;         // 0: none is owed, the connection is just closed
};

std::string ask(const std::string& line, const std::string& more = "",
                const std::string& body = "") {
  return line + " HTTP/1.1\r\nHost: x\r\n" + more +
         (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" +
         body;
}
std::string with_token(const std::string& line, const std::string& body = "") {
  return ask(line, "Authorization: Bearer TOKEN\r\n", body);
}
std::string submit(const std::string& spec) {
  return ask("POST /v1/jobs", "", "{\"spec\": " + spec + "}");
}

std::vector<Hostile> malformed() {
  using enum From;
  return {
      {"nothing but an end of line", kOwner, "\r\n\r\n", 400},
      {"no HTTP at all", kOwner, "help\r\n\r\n", 400},
      {"a method with a space", kOwner, "G ET /v1/jobs HTTP/1.1\r\n\r\n", 400},
      {"bytes above 127 in the method", kOwner, "\xff\xfe /v1/jobs HTTP/1.1\r\n\r\n", 400},
      {"a version that is not there", kOwner, "GET /v1/jobs HTTP/7.3\r\n\r\n", 400},
      {"no version", kOwner, "GET /v1/jobs\r\n\r\n", 400},
      {"a header without a name", kOwner, "GET /v1/jobs HTTP/1.1\r\n: x\r\n\r\n", 400},
      {"a header without a colon", kOwner, "GET /v1/jobs HTTP/1.1\r\nx\r\n\r\n", 400},
      {"a zero byte in a header", kOwner, std::string("GET / HTTP/1.1\r\nA: b\0c\r\n\r\n", 26),
       400},
      {"a length that is no number", kOwner, ask("POST /v1/jobs", "Content-Length: x\r\n"), 400},
      {"a negative length", kOwner, ask("POST /v1/jobs", "Content-Length: -5\r\n"), 400},
      {"two lengths that differ", kOwner,
       ask("POST /v1/jobs", "Content-Length: 1\r\nContent-Length: 2\r\n") + "ab", 400},
      {"a length beyond all numbers", kOwner,
       ask("POST /v1/jobs", "Content-Length: 99999999999999999999999\r\n"), 400},
      {"a chunk of no length", kOwner,
       ask("POST /v1/jobs", "Transfer-Encoding: chunked\r\n") + "zz\r\n", 400},
      {"an address that does not begin with a slash", kOwner, ask("GET jobs"), 400},
      {"an address with half a percent sign", kOwner, ask("GET /v1/%4"), 400},
      {"an address with a zero byte", kOwner, ask("GET /v1/jobs/%00"), 400},
      {"an address of many words", kOwner, ask("GET /1/2/3/4/5/6/7/8/9/1/2/3/4/5/6/7/8"), 400},
      {"a parameter twice", kOwner, ask("GET /v1/jobs?all=1&all=0"), 400},
      {"a parameter that is not known", kOwner, ask("GET /v1/jobs?every=1"), 400},
      {"a number with letters", kOwner, ask("GET /v1/events?after=1x"), 400},
      {"a number too long", kOwner, ask("GET /v1/events?after=" + std::string(40, '9')), 400},
      {"a signal of no number", kOwner, ask("POST /v1/jobs/steady/signal"), 400},
      {"a signal too high", kOwner, ask("POST /v1/jobs/steady/signal?number=65"), 400},
      {"an event to go on from that is no number", kOwner,
       ask("GET /v1/events/stream", "Last-Event-ID: -1\r\n"), 400},
  };
}

std::vector<Hostile> wrong_jobs() {
  using enum From;
  return {
      {"no body", kOwner, ask("POST /v1/jobs"), 400},
      {"half a body", kOwner, ask("POST /v1/jobs", "", "{\"spec\":"), 400},
      {"a list", kOwner, ask("POST /v1/jobs", "", "[]"), 400},
      {"a number", kOwner, ask("POST /v1/jobs", "", "3"), 400},
      {"letters that are no UTF-8", kOwner,
       submit("{\"v\": 1, \"name\": \"a\xff\", \"run\": \"true\"}"), 400},
      {"brackets without end", kOwner, ask("POST /v1/jobs", "", std::string(50'000, '[')), 400},
      {"a job that is a text", kOwner, submit("\"a\""), 400},
      {"a job without a command", kOwner, submit("{\"v\": 1, \"name\": \"a\"}"), 400},
      {"a job of a version to come", kOwner, submit("{\"v\": 99, \"run\": \"true\"}"), 400},
      {"a field that is not known", kOwner, submit("{\"v\": 1, \"run\": \"a\", \"x\": 1}"), 400},
      {"a name that leaves its folder", kOwner,
       submit("{\"v\": 1, \"run\": \"a\", \"name\": \"../../etc\"}"), 400},
      {"more nodes than there are", kOwner,
       submit("{\"v\": 1, \"run\": \"a\", \"name\": \"a\", \"num_nodes\": 4000}"), 400},
      {"a negative number of nodes", kOwner,
       submit("{\"v\": 1, \"run\": \"a\", \"name\": \"a\", \"num_nodes\": -1}"), 400},
      {"a dry run that is a text", kOwner,
       ask("POST /v1/jobs", "",
           "{\"spec\": {\"v\": 1, \"run\": \"a\", \"name\": \"a\"}, \"dry_run\": \"no\"}"),
       400},
      {"a policy tried with a text", kOwner,
       ask("POST /v1/policy", "", "{\"policy\": \"fifo\", \"dry_run\": \"no\"}"), 400},
      {"a policy that these nodes cannot serve", kOwner,
       ask("POST /v1/policy", "", "{\"policy\": \"synergy\"}"), 400},
      {"a token of no role", kOwner, ask("POST /v1/tokens", "", "{\"role\": \"king\"}"), 400},
      {"a token of no user", kOwner, ask("POST /v1/tokens", "", "{\"user\": \"no one\"}"), 400},
      {"a token with a field too many", kOwner, ask("POST /v1/tokens", "", "{\"uid\": 0}"), 400},
      {"a token that ended before", kOwner, ask("POST /v1/tokens", "", "{\"lasts_s\": -1}"), 400},
  };
}

std::vector<Hostile> wrong_execs() {
  using enum From;
  const auto exec = [](const std::string& body) {
    return ask("POST /v1/jobs/steady/exec", "", body);
  };
  const std::string one = "/v1/execs/" + std::string(32, 'a');
  return {
      {"an exec without a body", kOwner, ask("POST /v1/jobs/steady/exec"), 400},
      {"an exec that is half a text", kOwner, exec("{\"command\": [\"ls\""), 400},
      {"an exec that is a list", kOwner, exec("[]"), 400},
      {"an exec of no command", kOwner, exec("{}"), 400},
      {"an exec of a text", kOwner, exec("{\"command\": \"ls\"}"), 400},
      {"an exec of numbers", kOwner, exec("{\"command\": [1]}"), 400},
      {"an exec with a zero byte", kOwner, exec("{\"command\": [\"a\\u0000b\"]}"), 400},
      {"an exec with a field too many", kOwner, exec("{\"command\": [\"ls\"], \"uid\": 0}"), 400},
      {"an exec in a negative rank", kOwner, exec("{\"command\": [\"ls\"], \"rank\": -1}"), 400},
      {"an exec in a rank that is not there", kOwner, exec("{\"command\": [\"ls\"], \"rank\": 9}"),
       404},
      {"an exec in a replica of no service", kOwner,
       exec("{\"command\": [\"ls\"], \"replica\": \"../x\"}"), 400},
      {"an exec of a terminal that is a number", kOwner,
       exec("{\"command\": [\"ls\"], \"tty\": 3}"), 400},
      {"an exec for ever", kOwner, exec("{\"command\": [\"ls\"], \"timeout_s\": 1e99}"), 400},
      {"an exec of too many words", kOwner,
       exec("{\"command\": [\"" + std::string(50'000, 'a') + "\"]}"), 400},
      {"a large exec", kOwner, exec(std::string(70'000, ' ')), 413},
      {"large input", kOwner, ask("POST " + one + "/input?offset=0", "", std::string(70'000, 'a')),
       413},
      {"input without its place", kOwner, ask("POST " + one + "/input"), 400},
      {"input beyond all numbers", kOwner, ask("POST " + one + "/input?offset=99999999999999999"),
       400},
      {"output of no exec", kOwner, ask("GET " + one + "/output"), 404},
      {"output of a name that is none", kOwner, ask("GET /v1/execs/..%2f..%2fetc/output"), 404},
      {"output after a word", kOwner, ask("GET " + one + "/output?after=x"), 400},
      {"a window of no rows", kOwner, ask("POST " + one + "/size?rows=0&columns=5"), 400},
      {"the end of no exec", kOwner, ask("DELETE " + one), 404},
      {"nobody runs a command", kNobody, exec("{\"command\": [\"ls\"]}"), 401},
      {"a user runs a command in another's job", kUser,
       with_token("POST /v1/jobs/steady/exec", "{\"command\": [\"ls\"]}"), 403},
      {"an operator runs a command in another's job", kOperator,
       with_token("POST /v1/jobs/steady/exec", "{\"command\": [\"ls\"]}"), 403},
  };
}

std::vector<Hostile> oversized_and_absent() {
  using enum From;
  const std::string large(5 << 20, ' ');
  return {
      {"a body announced as too large", kOwner, ask("POST /v1/jobs", "Content-Length: 4194305\r\n"),
       413},
      {"a body that is too large", kOwner, ask("POST /v1/jobs", "", large), 413},
      {"chunks without end", kOwner,
       ask("POST /v1/jobs", "Transfer-Encoding: chunked\r\n") + "500000\r\n" + large + "\r\n", 413},
      {"a body where none belongs", kOwner, ask("POST /v1/down", "", "{}"), 413},
      {"a large token request", kOwner, ask("POST /v1/tokens", "", std::string(70'000, ' ')), 413},
      {"a header too large", kOwner, ask("GET /v1/jobs", "A: " + std::string(20'000, 'a') + "\r\n"),
       431},
      {"an address too large", kOwner, ask("GET /" + std::string(20'000, 'a')), 431},
      {"an address that is not there", kOwner, ask("GET /v2/jobs"), 404},
      {"a way out of the folder", kOwner, ask("GET /v1/jobs/../../etc/passwd"), 404},
      {"a coded way out of the folder", kOwner, ask("GET /v1/jobs/%2e%2e%2fetc%2fpasswd/logs"),
       404},
      {"a job that is not there", kOwner, ask("POST /v1/jobs/nobody/cancel"), 404},
      {"a node that is not there", kOwner, ask("POST /v1/nodes/node-9/drain"), 404},
      {"a token that is not there", kOwner, ask("DELETE /v1/tokens/0123456789ab"), 404},
      {"a method that is not known here", kOwner, ask("DELETE /v1/jobs/steady"), 405},
      {"a method that is not known anywhere", kOwner, ask("BREW /v1/jobs"), 405},
  };
}

std::vector<Hostile> nobody_and_forged() {
  using enum From;
  const std::string good = R"({"spec": {"v": 1, "name": "a", "run": "true"}})";
  const std::string auth = "Authorization: Bearer ";
  return {
      {"nobody looks", kNobody, ask("GET /v1/jobs"), 401},
      {"nobody submits", kNobody, ask("POST /v1/jobs", "", good), 401},
      {"nobody ends the daemon", kNobody, ask("POST /v1/down"), 401},
      {"nobody looks for addresses", kNobody, ask("GET /nowhere"), 401},
      {"an empty token", kNobody, ask("GET /v1/jobs", auth + "\r\n"), 401},
      {"a token that was made up", kNobody,
       ask("POST /v1/down", auth + "weft_0123456789ab_" + std::string(64, '0') + "\r\n"), 401},
      {"a token with one letter changed", kAdmin, ask("POST /v1/down", auth + "TOKENx\r\n"), 401},
      {"a token by another scheme", kAdmin, ask("POST /v1/down", "Authorization: Basic TOKEN\r\n"),
       401},
      {"a token in the address", kAdmin, ask("POST /v1/down?token=TOKEN"), 401},
      {"names of the kernel's callers", kNobody,
       ask("POST /v1/down", "X-Remote-User: root\r\nX-Forwarded-For: 127.0.0.1\r\n"), 401},
      {"nobody with a large body", kNobody, ask("POST /v1/jobs", "Content-Length: 4000000\r\n"),
       401},
      {"a user ends the daemon", kUser, with_token("POST /v1/down"), 403},
      {"an operator ends the daemon", kOperator, with_token("POST /v1/down"), 403},
      {"a user drains a node", kUser, with_token("POST /v1/nodes/node-0/drain"), 403},
      {"a user cancels another's job", kUser, with_token("POST /v1/jobs/steady/cancel"), 403},
      {"a user signals another's job", kUser, with_token("POST /v1/jobs/steady/signal?number=9"),
       403},
      {"a user reads another's output", kUser, with_token("GET /v1/jobs/steady/logs"), 403},
      {"an operator cancels another's job", kOperator, with_token("POST /v1/jobs/steady/cancel"),
       403},
      {"a token makes a token", kUser, with_token("POST /v1/tokens", "{}"), 403},
      {"a user makes an administrator", kUser,
       with_token("POST /v1/tokens", R"({"role": "admin"})"), 403},
      {"a user ends another's token", kUser, with_token("DELETE /v1/tokens/ADMIN"), 404},
      {"two requests in one, the second forged", kNobody,
       ask("GET /v1/jobs") + ask("POST /v1/down"), 401},
  };
}

// What must not change.
Json picture(Up& up) {
  const Json answer = up.ask("GET", "/v1/nodes");
  Json nodes = Json::array();
  for (const Json& node : answer.at("nodes")) {
    nodes.push_back({node.at("node"), node.at("drained"), node.at("in_service")});
  }
  return {{"jobs", up.ask("GET", "/v1/jobs?all=1").at("jobs")},
          {"records", up.ask("GET", "/v1/status").at("records")},
          {"tokens", up.ask("GET", "/v1/tokens").at("tokens")},
          {"nodes", nodes}};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return text;
}

TEST(HostileRequests, AreRefusedAndChangeNothing) {
  Up up({"--listen", "127.0.0.1:0"});
  ASSERT_TRUE(up.comes_to(up.submit("steady", "sleep 300"), "running"));
  std::map<From, std::string> tokens;
  // The job is of whoever runs this; the callers are others.
  const auto token = [&](const char* role) {
    std::string text = slurp(up.token(role, std::string("--role ") + role + " --user nobody"));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  };
  tokens[From::kUser] = token("user");
  tokens[From::kOperator] = token("operator");
  tokens[From::kAdmin] = token("admin");
  const std::string admin_id = tokens[From::kAdmin].substr(5, 12);
  const Json before = picture(up);

  std::vector<Hostile> all;
  for (const auto& some :
       {malformed(), wrong_jobs(), wrong_execs(), oversized_and_absent(), nobody_and_forged()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  EXPECT_GE(all.size(), 64u);
  for (const Hostile& hostile : all) {
    SCOPED_TRACE(hostile.what);
    live::RawConnection raw(hostile.from == From::kOwner ? live::socket_of(up.store()) : up.url());
    ASSERT_TRUE(raw.joined());
    raw.send(replaced(replaced(hostile.bytes, "TOKEN", tokens[hostile.from]), "ADMIN", admin_id));
    const std::string reply = raw.read(10'000, "}\n");
    EXPECT_EQ(live::status_of(reply), hostile.status) << reply.substr(0, 300);
    EXPECT_EQ(std::count(reply.begin(), reply.end(), '{') > 0, hostile.status != 0);
    EXPECT_EQ(reply.find("Allow: ") != std::string::npos, hostile.status == 405) << reply;
    EXPECT_EQ(reply.find("WWW-Authenticate") != std::string::npos, hostile.status == 401);
    EXPECT_TRUE(lives(up.pid()));
  }
  EXPECT_EQ(picture(up), before);
  EXPECT_EQ(slurp(up.scratch.path("up.err")), "")
      << "nothing was worth a word, least of all secrets";
}

}  // namespace
}  // namespace weft
