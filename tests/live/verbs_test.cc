// Verbs that look after a cluster: usage, top, backup and restore, completions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/wrap.h"
#include "tests/live/up_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

TEST(Verbs, UsageAddsUpWhatJobsHeld) {
  Scratch files;
  const std::string cluster = files.write("priced.yaml", "nodes: [{devices: 2, price: 3600}]\n");
  Up up({"--cluster", cluster});
  ASSERT_TRUE(up.comes_to(up.submit("used", "sleep 1"), "finished"));
  const CommandResult result = up.weft("usage --since 1h --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const Json usage = Json::parse(result.out);
  ASSERT_EQ(usage.at("jobs").size(), 1u);
  const double hours = usage["jobs"][0].at("device_hours");
  EXPECT_GT(hours * 3600, 0.9) << "one device for a second";
  EXPECT_LT(hours * 3600, 30);
  EXPECT_NEAR(usage["jobs"][0].at("cost").get<double>(), hours * 3600, 1e-6) << "1 a second";
  EXPECT_EQ(usage.at("queues")[0].at("queue"), "default");
  const std::string user = usage.at("users")[0].at("user");
  EXPECT_EQ(up.weft("usage --budget " + user + "=1000000").code, 0);
  const CommandResult over = up.weft("usage --budget " + user + "=0.5");
  EXPECT_EQ(over.code, 1);
  EXPECT_THAT(over.out, HasSubstr(user + " is over budget"));
  EXPECT_EQ(up.weft("usage --budget nonsense").code, 2);
  EXPECT_EQ(up.weft("usage --since soon").code, 2);
  EXPECT_TRUE(Json::parse(up.weft("usage --user nobody-else --json").out).at("jobs").empty());
}

TEST(Verbs, TopShowsNodesAndJobs) {
  Up up;
  ASSERT_TRUE(up.comes_to(up.submit("long", "sleep 100"), "running"));
  const CommandResult top = up.weft("top --once");
  EXPECT_EQ(top.code, 0) << top.err;
  EXPECT_THAT(top.out, HasSubstr("1 of 4 devices held"));
  EXPECT_THAT(top.out, HasSubstr("node-1"));
  EXPECT_THAT(top.out, HasSubstr("long"));
  EXPECT_EQ(Json::parse(up.weft("top --once --json").out).at("jobs").size(), 1u);
}

TEST(Verbs, AStoreIsRestoredFromItsBackup) {
  Up up;
  ASSERT_TRUE(up.comes_to(up.submit("before", "true"), "finished"));
  const std::string copy = up.scratch.path("copy"), fresh = up.scratch.path("fresh");
  const CommandResult made = up.weft("backup " + copy + " --json");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_GT(Json::parse(made.out).at("records"), 5);
  EXPECT_EQ(up.weft("backup " + copy).code, 2) << "nothing is overwritten";
  EXPECT_EQ(up.weft("restore " + copy).code, 2) << "nor a store that is in use";
  up.submit("after", "true");
  const Json then = up.ask("GET", "/v1/jobs?all=1");
  ASSERT_EQ(run_weft(up.scratch, "restore " + copy + " --store " + fresh).code, 0);
  const CommandResult replayed = run_weft(up.scratch, "replay --store " + fresh);
  EXPECT_EQ(replayed.code, 0) << replayed.out << replayed.err;
  EXPECT_EQ(up.weft("down").code, 0);
  up.use_store("fresh");
  up.start();
  const Json now = up.ask("GET", "/v1/jobs?all=1");
  ASSERT_EQ(now.at("jobs").size(), 1u);
  EXPECT_EQ(now["jobs"][0], then["jobs"][0]);
  EXPECT_TRUE(up.comes_to(up.submit("again", "true"), "finished")) << "it works on";
}

TEST(Verbs, PagesForPeopleAndJsonForPrograms) {
  Up up;
  const std::string uuid = up.submit("looked-at", "sleep 100");
  ASSERT_TRUE(up.comes_to(uuid, "running"));
  const std::string page = up.weft("status looked-at").out;
  for (const std::string& part :
       {"job        looked-at (" + uuid + ")\n", std::string("state      running for "),
        std::string("devices    1 device on node-"), up.store() + "/logs/" + uuid + "/rank-0.log\n",
        std::string("`weft logs looked-at -f`")}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_LE(widest_line(page), kPageColumns) << page;
  const std::string nodes = up.weft("nodes").out;
  EXPECT_THAT(nodes, HasSubstr("gpu: 1 of 4 devices used, 2 of 2 nodes in service\n"));
  EXPECT_LE(widest_line(nodes), kPageColumns) << nodes;
  EXPECT_THAT(up.weft("status").out, HasSubstr("policy     backfill\n"));
  EXPECT_EQ(up.weft("queue").out.substr(0, 4), up.weft("jobs").out.substr(0, 4)) << "one verb";
  // What programs read is what the daemon answers.
  const Json status = Json::parse(up.weft("status looked-at --json").out);
  Json told = up.ask("GET", "/v1/jobs/" + uuid);
  for (const auto& [key, value] : told.items()) EXPECT_TRUE(status.contains(key)) << key;
  EXPECT_EQ(status.size(), told.size());
  EXPECT_EQ(Json::parse(up.weft("nodes --json").out).at("nodes").size(), 2u);
  EXPECT_THAT(up.weft("explain nobody").err, HasSubstr("weft jobs --all lists them"));
}

TEST(Verbs, TheShellJobNeedsNothingButTheProgram) {
  Up up;
  const std::string file = std::string(WEFT_FIXTURES) + "/../../examples/jobs/shell.yaml";
  const CommandResult ran = up.weft("submit " + file + " --wait");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("hello finished after "));
  EXPECT_THAT(up.weft("logs hello").out, HasSubstr("step 5 of 5"));
  EXPECT_THAT(up.weft("explain hello").out, HasSubstr("`weft status hello` shows"));
  const CommandResult whatif = up.weft("whatif --policy srtf");
  ASSERT_EQ(whatif.code, 0) << whatif.err;
  EXPECT_THAT(whatif.out, HasSubstr("4 devices: 1 job\n"));
  EXPECT_THAT(whatif.out, HasSubstr("by users' estimates"));
  EXPECT_LE(widest_line(whatif.out), kPageColumns) << whatif.out;
}

TEST(Verbs, ShellsCompleteVerbsAndOptions) {
  Scratch scratch;
  const std::string script = scratch.write("weft.bash", run_weft(scratch, "completions bash").out);
  const auto complete = [&](const std::string& words, int at) {
    const std::string out = scratch.path("out");
    const std::string line = "bash -c 'source " + script + "; COMP_WORDS=(" + words +
                             "); COMP_CWORD=" + std::to_string(at) +
                             "; _weft; echo \"${COMPREPLY[@]}\"' >" + out + " 2>&1";
    EXPECT_EQ(std::system(line.c_str()), 0);
    return slurp(out);
  };
  EXPECT_EQ(complete("weft sub", 1), "submit\n");
  EXPECT_EQ(complete("weft token cr", 2), "create\n");
  EXPECT_EQ(complete("weft token create --ro", 3), "--role\n");
  EXPECT_EQ(complete("weft --store x token create --ex", 5), "--expires\n");
  EXPECT_EQ(complete("weft up --tls", 2), "--tls-cert --tls-key\n");
  for (const char* shell : {"zsh", "fish"}) {
    const std::string text = run_weft(scratch, std::string("completions ") + shell).out;
    for (const char* word : {"submit", "revoke", "tls-key", "restore"}) {
      EXPECT_THAT(text, HasSubstr(word)) << shell;
    }
  }
  EXPECT_EQ(run_weft(scratch, "completions tcsh").code, 2);
}

TEST(Verbs, TheManualNamesEveryVerb) {
  Scratch scratch;
  const std::string manual = slurp(std::string(WEFT_FIXTURES) + "/../../share/man/man1/weft.1");
  const std::string script = run_weft(scratch, "completions fish").out;
  std::size_t verbs = 0;
  const std::string top = "complete -c weft -n '__weft_at ' -a ";
  for (std::size_t at = script.find(top); at != std::string::npos; at = script.find(top, at + 1)) {
    const std::size_t from = at + top.size();
    const std::string verb = script.substr(from, script.find(' ', from) - from);
    EXPECT_THAT(manual, HasSubstr("\n.B " + verb)) << "share/man/man1/weft.1 does not name it";
    ++verbs;
  }
  EXPECT_GT(verbs, 15u);
}

}  // namespace
}  // namespace weft
