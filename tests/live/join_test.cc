// Agents that come by an invitation: `weft nodes invite` and `weft agent --join`.
#include <gtest/gtest.h>

#include "tests/live/up_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;

class Join : public testing::Test {
 protected:
  // A daemon that expects its only node.
  static std::vector<std::string> options() {
    return {"--cluster",   "1x1",         "--no-agents", "--listen",
            "127.0.0.1:0", "--agents-at", "127.0.0.1:0"};
  }
  Join() : up_(options()) {}

  std::string invitation(const std::string& node) {
    const CommandResult made = up_.weft("nodes invite " + node);
    EXPECT_EQ(made.code, 0) << made.err;
    const std::string path = up_.scratch.write(node + ".token", made.out);
    ::chmod(path.c_str(), 0600);
    return path;
  }
  runtime::Variables as(const std::string& token_file) {
    return {{"WEFT_URL", up_.url()}, {"WEFT_TOKEN_FILE", token_file}};
  }
  bool connected() {
    const Json nodes = up_.ask("GET", "/v1/nodes");
    return nodes.is_object() && nodes.contains("nodes") && nodes["nodes"][0]["connected"];
  }
  // Runs until the test has seen enough of it.
  runtime::ChildProcess agent(const runtime::Variables& more) {
    std::vector<std::string> words = {
        WEFT_BINARY, "agent", "--join", "--node", "node-0", "--dir", up_.scratch.path("agent")};
    auto started = runtime::ChildProcess::start(
        {WEFT_BINARY, words, runtime::full_environment({}, more), up_.scratch.path("agent.out"),
         up_.scratch.path("agent.err"), std::nullopt});
    EXPECT_TRUE(started.ok());
    return std::move(*started);
  }
  static void end(runtime::ChildProcess& process) {
    ::kill(process.pid(), SIGTERM);
    EXPECT_TRUE(wait_until([&] { return process.reap().has_value(); }));
  }

  Up up_;
};

TEST_F(Join, AnInvitedAgentRunsJobsAndComesBackWithoutAnInvitation) {
  const std::string token = invitation("node-0");
  auto first = agent(as(token));
  ASSERT_TRUE(wait_until([&] { return connected(); })) << slurp(up_.scratch.path("agent.err"));
  const std::string job = up_.submit("hello", "echo here");
  EXPECT_TRUE(up_.comes_to(job, "finished"));
  struct stat kept = {};
  ASSERT_EQ(::stat(up_.scratch.path("agent/secret").c_str(), &kept), 0);
  EXPECT_EQ(kept.st_mode & 077, 0u) << "others may read the cluster's secret";
  end(first);
  ASSERT_TRUE(wait_until([&] { return !connected(); }));
  auto again = agent({});
  EXPECT_TRUE(wait_until([&] { return connected(); })) << slurp(up_.scratch.path("agent.err"));
  end(again);
}

TEST_F(Join, AnInvitationHoldsOnceForOneNodeAndNothingElse) {
  const std::string file = invitation("node-0");
  std::string token = slurp(file);
  token.pop_back();
  const auto at = live::parse_url(up_.url());
  ASSERT_TRUE(at.ok());
  live::Endpoint endpoint = *at;
  endpoint.token = token;
  live::HttpClient client(endpoint);
  const auto status = [&](const char* method, const char* target) {
    const auto reply = client.ask(method, target, "", 5);
    return reply.ok() ? reply->status : 0;
  };
  struct Row {
    const char* what;
    const char* method;
    const char* target;
    int want;
  };
  const Row rows[] = {
      {"it shows no jobs", "GET", "/v1/jobs", 403},
      {"it shows no nodes", "GET", "/v1/nodes", 403},
      {"it makes no token", "POST", "/v1/tokens", 403},
      {"it invites nobody else", "POST", "/v1/nodes/node-0/invite", 403},
      {"it holds for no other node", "POST", "/v1/nodes/node-7/join", 404},
      {"it holds once", "POST", "/v1/nodes/node-0/join", 200},
      {"and not twice", "POST", "/v1/nodes/node-0/join", 401},
  };
  for (const Row& row : rows) EXPECT_EQ(status(row.method, row.target), row.want) << row.what;
}

TEST_F(Join, AgentsThatWereNotInvitedAreToldWhatIsMissing) {
  const auto fails = [&](const runtime::Variables& more, const std::string& says) {
    auto process = agent(more);
    ASSERT_TRUE(wait_until([&] { return process.reap().has_value(); }));
    EXPECT_NE(slurp(up_.scratch.path("agent.err")).find(says), std::string::npos)
        << slurp(up_.scratch.path("agent.err"));
  };
  fails({}, "WEFT_URL");
  fails({{"WEFT_URL", up_.url()}}, "token");
  fails(as(up_.token("user.token", "--role admin")), "only who was invited as node-0");
}

}  // namespace
}  // namespace weft
