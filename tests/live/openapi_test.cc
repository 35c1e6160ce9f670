// The interface as share/weft/openapi.json describes it, against the table of the server and
// against its answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "live/daemon/routes.h"
#include "live/job/schema_testing.h"
#include "tests/live/up_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;

Json openapi() {
  return Json::parse(slurp(std::string(WEFT_FIXTURES) + "/../../share/weft/openapi.json"));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

TEST(OpenApi, DescribesEveryRouteAndNoOther) {
  const Json document = openapi();
  std::set<std::string> described;
  for (const auto& [path, methods] : document.at("paths").items()) {
    for (const auto& [method, ignored] : methods.items()) described.insert(method + " " + path);
  }
  constexpr const char* kNeeds[] = {"user", "owner", "operator", "admin", "node"};
  for (const live::Route& route : live::routes()) {
    const std::string name = lower(route.method) + " " + route.pattern;
    SCOPED_TRACE(name);
    ASSERT_EQ(described.erase(name), 1u) << "it is not in share/weft/openapi.json";
    const Json& operation = document.at("paths").at(route.pattern).at(lower(route.method));
    EXPECT_EQ(operation.at("x-weft-need"), kNeeds[static_cast<int>(route.need)]);
    EXPECT_EQ(operation.contains("requestBody"), route.most_body > 0);
    std::set<std::string> parameters;
    for (const Json& parameter : operation.value("parameters", Json::array())) {
      if (parameter.at("in") == "query") parameters.insert(parameter.at("name"));
    }
    for (const live::QueryField& field : route.query) {
      EXPECT_EQ(parameters.erase(field.name), 1u) << field.name;
    }
    EXPECT_TRUE(parameters.empty()) << *parameters.begin();
  }
  EXPECT_TRUE(described.empty()) << *described.begin() << " is no route";
}

class Answers {
 public:
  explicit Answers(Up& up) : up_(up), check_(document_) {}

  // Asks, and holds the answer against the schema that the file has for its status.
  Json expect(int status, const std::string& method, const std::string& pattern,
              const std::string& target, const std::string& body = "") {
    SCOPED_TRACE(method + " " + target);
    const Json answer = up_.ask(method, target, body);
    EXPECT_EQ(up_.status, status) << answer;
    const std::string pointer =
        "/paths/" + escaped(pattern) + "/" + lower(method) + "/responses/" + std::to_string(status);
    const Json::json_pointer response(pointer);
    EXPECT_TRUE(document_.contains(response)) << pointer;
    if (!document_.contains(response)) return answer;
    const Json& content = document_.at(response).at("content");
    if (content.contains("application/json")) {
      EXPECT_TRUE(check_.admits_as(pointer + "/content/application~1json/schema", answer))
          << answer;
    }
    seen.insert(lower(method) + " " + pattern);
    return answer;
  }
  std::set<std::string> seen;

 private:
  static std::string escaped(const std::string& pattern) {
    std::string out;
    for (const char c : pattern) out += c == '/' ? "~1" : std::string(1, c);
    return out;
  }
  Up& up_;
  const Json document_ = openapi();
  live::SchemaCheck check_;
};

// Of a command beside the running job `one`.
void ask_execs(Answers& answers) {
  const Json exec = answers.expect(201, "POST", "/v1/jobs/{job}/exec", "/v1/jobs/one/exec",
                                   R"({"command": ["cat"], "tty": {"rows": 5}})");
  const std::string of_exec = "/v1/execs/" + exec.at("id").get<std::string>();
  answers.expect(200, "POST", "/v1/execs/{id}/input", of_exec + "/input?offset=0&last=1", "a");
  answers.expect(200, "POST", "/v1/execs/{id}/size", of_exec + "/size?rows=3&columns=4");
  answers.expect(200, "GET", "/v1/execs/{id}/output", of_exec + "/output?after=0");
  answers.expect(400, "GET", "/v1/execs/{id}/output", of_exec + "/output?after=99999");
  answers.expect(200, "DELETE", "/v1/execs/{id}", of_exec);
  answers.expect(400, "POST", "/v1/jobs/{job}/exec", "/v1/jobs/one/exec", "{}");
}

TEST(OpenApi, AnswersAreAsItSays) {
  Up up;
  Answers answers(up);
  const std::string spec = R"({"v": 1, "name": "one", "run": "sleep 60"})";
  answers.expect(200, "POST", "/v1/jobs", "/v1/jobs", R"({"dry_run": true, "spec": )" + spec + "}");
  answers.expect(201, "POST", "/v1/jobs", "/v1/jobs", R"({"spec": )" + spec + "}");
  answers.expect(400, "POST", "/v1/jobs", "/v1/jobs", "{}");
  ASSERT_TRUE(up.comes_to("one", "running"));
  answers.expect(200, "GET", "/v1/jobs", "/v1/jobs?all=1");
  answers.expect(200, "GET", "/v1/jobs/{job}", "/v1/jobs/one");
  answers.expect(404, "GET", "/v1/jobs/{job}", "/v1/jobs/two");
  answers.expect(200, "GET", "/v1/jobs/{job}/logs", "/v1/jobs/one/logs?rank=0");
  answers.expect(200, "GET", "/v1/jobs/{job}/explain", "/v1/jobs/one/explain");
  ask_execs(answers);
  answers.expect(200, "POST", "/v1/policy", "/v1/policy", R"({"policy": "fifo", "dry_run": true})");
  answers.expect(202, "POST", "/v1/jobs/{job}/signal", "/v1/jobs/one/signal?number=18");
  answers.expect(200, "GET", "/v1/usage", "/v1/usage?last=3600");
  answers.expect(200, "POST", "/v1/jobs/{job}/cancel", "/v1/jobs/one/cancel");
  ASSERT_TRUE(up.comes_to("one", "cancelled"));
  answers.expect(409, "POST", "/v1/jobs/{job}/cancel", "/v1/jobs/one/cancel");
  answers.expect(409, "POST", "/v1/jobs/{job}/exec", "/v1/jobs/one/exec",
                 R"({"command": ["true"]})");
  answers.expect(200, "GET", "/v1/nodes", "/v1/nodes");
  for (const char* verb : {"drain", "undrain", "fence"}) {
    answers.expect(200, "POST", std::string("/v1/nodes/{node}/") + verb,
                   std::string("/v1/nodes/node-1/") + verb);
  }
  const Json reserved = answers.expect(200, "POST", "/v1/nodes/{node}/reserve",
                                       "/v1/nodes/node-0/reserve?from=1h&to=2h");
  ASSERT_TRUE(
      wait_until([&] { return !up.ask("GET", "/v1/nodes")["nodes"][0]["reservations"].empty(); }));
  answers.expect(200, "GET", "/v1/nodes", "/v1/nodes");
  answers.expect(200, "POST", "/v1/nodes/{node}/open",
                 "/v1/nodes/node-0/open?number=" + reserved.at("number").dump());
  answers.expect(200, "POST", "/v1/nodes/{node}/notice", "/v1/nodes/node-0/notice?in=1h");
  answers.expect(201, "POST", "/v1/nodes/{node}/invite", "/v1/nodes/node-0/invite?lasts=60");
  answers.expect(400, "POST", "/v1/nodes/{node}/invite", "/v1/nodes/node-0/invite?lasts=0");
  answers.expect(403, "POST", "/v1/nodes/{node}/join", "/v1/nodes/node-0/join");
  answers.expect(200, "GET", "/v1/events", "/v1/events?after=1");
  answers.expect(201, "POST", "/v1/notes", "/v1/notes", R"({"name": "a", "text": "b"})");
  answers.expect(200, "GET", "/v1/status", "/v1/status");
  answers.expect(200, "GET", "/metrics", "/metrics");
  const Json made = answers.expect(201, "POST", "/v1/tokens", "/v1/tokens", R"({"lasts_s": 60})");
  answers.expect(200, "GET", "/v1/tokens", "/v1/tokens");
  answers.expect(200, "DELETE", "/v1/tokens/{id}",
                 "/v1/tokens/" + made.at("id").get<std::string>());
  live::HttpClient client(live::socket_of(up.store()));
  const auto stream = client.follow("GET", "/v1/events/stream", "", [&](std::string_view piece) {
    EXPECT_TRUE(piece.starts_with("id: 1\ndata: {")) << piece;
    return false;
  });
  EXPECT_TRUE(stream.ok());
  answers.seen.insert("get /v1/events/stream");
  answers.expect(200, "POST", "/v1/down", "/v1/down");
  for (const live::Route& route : live::routes()) {
    EXPECT_TRUE(answers.seen.contains(lower(route.method) + " " + route.pattern))
        << route.method << " " << route.pattern << " was never asked";
  }
}

}  // namespace
}  // namespace weft
