// The verbs that look ahead and back, against a real `weft up`: explain, policy set, whatif,
// export.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "live/daemon/daemon.h"
#include "live/http/client.h"
#include "tests/live/launch_testing.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

class ForecastVerbs : public testing::Test {
 protected:
  ~ForecastVerbs() override {
    weft("down --now");
    end(SIGKILL);
  }
  void up() {
    const std::vector<std::string> words = {WEFT_BINARY, "up",    "--cluster", "1x2",
                                            "--store",   store(), "--lease",   "2"};
    auto started = runtime::ChildProcess::start(
        {WEFT_BINARY, words, runtime::full_environment({}, {}), scratch_.path("up.out"),
         scratch_.path("up.err"), std::nullopt});
    ASSERT_TRUE(started.ok());
    process_.emplace(std::move(*started));
    ASSERT_TRUE(wait_until([&] { return weft("status").code == 0; }))
        << slurp(scratch_.path("up.err"));
  }
  void end(int number) {
    if (!process_ || process_->reap()) return;
    ::kill(process_->pid(), number);
    wait_until([&] { return process_->reap().has_value(); });
  }
  std::string store() const { return scratch_.path("store"); }
  CommandResult weft(const std::string& words) {
    return run_weft(scratch_, words + " --store " + store());
  }
  Json asked(const std::string& words) {
    const CommandResult result = weft(words + " --json");
    EXPECT_EQ(result.code, 0) << words << ": " << result.err;
    return Json::parse(result.out, nullptr, false);
  }
  void submit(const std::string& name, int devices, const std::string& run, const char* time) {
    const std::string file = scratch_.write(
        name + ".yaml", "name: " + name + "\nworkdir: /\nresources: {accelerators: " +
                            std::to_string(devices) + "}\nrun: \"" + run + "\"\ntime: " + time);
    const CommandResult result = weft("submit " + file);
    ASSERT_EQ(result.code, 0) << result.err;
  }
  std::string state(const std::string& job) {
    return asked("status " + job).value("state", "unknown");
  }

  Scratch scratch_;
  std::optional<runtime::ChildProcess> process_;
};

TEST_F(ForecastVerbs, LookAheadAndBack) {
  up();
  submit("short", 2, "true", "1min");
  ASSERT_TRUE(wait_until([&] { return state("short") == "finished"; }));
  submit("runs", 2, "sleep 1000", "20min");
  ASSERT_TRUE(wait_until([&] { return state("runs") == "running"; }));
  submit("waits", 1, "sleep 1000", "10min");
  submit("behind", 2, "sleep 1000", "5min");

  const Json waits = asked("explain waits");
  EXPECT_EQ(waits["state"], "queued");
  EXPECT_EQ(waits["policy"], "backfill");
  EXPECT_THAT(waits["why"].get<std::string>(), HasSubstr("device"));
  EXPECT_EQ(waits["estimate_from"], "the user's time");
  EXPECT_TRUE(waits["forecast_whole"]);
  const double now = waits["now_s"];
  EXPECT_NEAR(waits["predicted_start_s"].get<double>(), now + 1200, 60);
  EXPECT_NEAR(waits["predicted_end_s"].get<double>(), now + 1800, 60);
  EXPECT_LT(waits["state_age_s"].get<double>(), 60);
  EXPECT_NEAR(asked("explain behind")["predicted_start_s"].get<double>(), now + 1800, 60);
  EXPECT_THAT(weft("explain waits").out, HasSubstr("why it waits"));
  EXPECT_EQ(weft("explain nobody").code, 1);

  const Json dry = asked("policy set srtf --dry-run");
  ASSERT_EQ(dry["stopped"].size(), 1u) << dry;
  EXPECT_EQ(dry["stopped"][0]["name"], "runs");
  EXPECT_EQ(asked("status")["policy"], "backfill");
  EXPECT_EQ(weft("policy set nothing").code, 2);
  EXPECT_EQ(asked("policy set srtf")["policy"], "srtf");
  ASSERT_TRUE(wait_until([&] { return state("behind") == "running"; }));
  EXPECT_EQ(asked("status")["policy"], "srtf");
  end(SIGKILL);
  up();
  EXPECT_EQ(asked("status")["policy"], "srtf") << "the policy in force outlives the daemon";
  EXPECT_EQ(weft("replay").code, 0);

  const Json runs = asked("whatif --policy fifo");
  EXPECT_EQ(runs["runs"].size(), 2u) << runs;
  EXPECT_THAT(weft("whatif --policy fifo --since 1h").out, HasSubstr("4 jobs"));
  const std::string trace = scratch_.path("exported.yaml");
  EXPECT_EQ(asked("export trace " + trace)["jobs"], 4);
  EXPECT_THAT(slurp(trace), testing::Not(HasSubstr("sleep"))) << "what a job does is its own";
  const CommandResult sim =
      run_weft(scratch_, "sim --cluster 1x2 --policy fifo --trace " + trace + " --json");
  EXPECT_EQ(sim.code, 0) << sim.err;
}

}  // namespace
}  // namespace weft
