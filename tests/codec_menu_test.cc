// The cost model of live training fills the menu of a simulated job, and a policy that knows no
// codec chooses from it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/compress/automatic.h"
#include "sim/sim_testing.h"
#include "tests/cross_testing.h"
#include "timing/compression/menu.h"

namespace weft {
namespace {

// Which configuration each start asked for.
class Chosen : public Journal {
 public:
  void command(Seconds, const Command& c) override {
    if (c.allocation != nullptr) configurations.push_back(c.allocation->configuration);
  }
  std::vector<std::uint32_t> configurations;
};

Menu menu_on(double bytes_per_s) {
  runtime::GroupShape shape;
  shape.ranks = 4;
  shape.per_host = 1;
  shape.one_host = false;
  shape.links.other_host = {1e-4, bytes_per_s};
  runtime::AutomaticQuestion question;
  question.step = even_step(100e6, 0.5);
  question.ranks = 4;
  question.codecs = runtime::usual_coding();
  question.modes = {"bsp"};
  const auto answer = runtime::choose_automatically(question, runtime::clock_of(shape));
  CHECK(answer.ok());
  Configuration asked;
  asked.devices = 4;
  return compression_menu(asked, answer->plain, answer->considered, 4);
}

std::string codec_chosen_on(double bytes_per_s, const std::string& policy_name) {
  const Cluster cluster = testing_cluster("4x1");
  const Menu offered = menu_on(bytes_per_s);
  JobRow row{0, 4, 3600};
  row.edit = [&](Submission& job, Menu& menu, Truth&) {
    job.elastic = true;
    menu = offered;
  };
  const Trace trace = testing_trace({row});
  Chosen chosen;
  const auto policy = testing_policy(policy_name);
  const auto result = run_trace(cluster, trace, *policy, SimOptions{}, &chosen);
  CHECK(result.ok());
  CHECK(!chosen.configurations.empty());
  return offered.configurations[chosen.configurations.back()].codec;
}

TEST(CodecMenu, APolicyTakesCompressionOnASlowNetworkAndNoneOnAFastOne) {
  for (const char* policy : {"optimus", "sia"}) {
    const std::string slow = codec_chosen_on(25e6, policy);
    EXPECT_TRUE(slow != "none" && !slow.empty()) << policy << " chose '" << slow << "'";
    const std::string fast = codec_chosen_on(25e9, policy);
    EXPECT_TRUE(fast == "none" || fast.empty()) << policy << " chose '" << fast << "'";
  }
}

TEST(CodecMenu, TheOptionOfTheSimulatorMakesJobsOnSlowLinksShorter) {
  const Scratch scratch;
  const std::string jobs = scratch.write(
      "jobs.yaml",
      "jobs:\n  - {name: a, submit_s: 0, duration_s: 3600, menu: {devices: 4, seconds_per_step: "
      "0.5, traffic: {pattern: all-reduce, bytes_per_step: 100000000, phase: 0.33}}}\n");
  const std::string base = "sim --cluster 4x1 --policy optimus --json --trace " + jobs;
  const auto mean = [&](const std::string& options) {
    const CommandResult result = run_weft(scratch, base + options);
    EXPECT_EQ(result.code, 0) << result.err;
    const auto json = nlohmann::json::parse(result.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << result.out;
    return json.is_discarded() ? 0 : json["runs"][0]["mean_jct_s"].get<double>();
  };
  EXPECT_EQ(mean(""), 3600);
  EXPECT_LT(mean(" --codecs 1us,10GB/s,100us,25MB/s,10GB/s"), 1800);
  EXPECT_NEAR(mean(" --codecs 1us,10GB/s,1us,50GB/s,50GB/s"), 3600, 36);
  EXPECT_EQ(run_weft(scratch, base + " --codecs fast").code, 2);
}

}  // namespace
}  // namespace weft
