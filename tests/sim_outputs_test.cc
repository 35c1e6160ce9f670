// What `weft sim` prints and writes: whole, quoted, and only when all of it can be written.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cross_testing.h"

namespace weft {
namespace {

std::string sixty() { return fixture("traces/philly_sixty.csv"); }

TEST(SimOutputs, NumbersThatAreNoneAreRefused) {
  const Scratch scratch;
  // NaN lies in no range, but no comparison says so; -1 would wrap around.
  for (const char* words :
       {"--load nan", "--node-mtbf nan", "--loss nan", "--start-cost inf", "--seed -1",
        "--repair 0", "--threads 1.5", "--seeds 0", "--replicate 0"}) {
    const CommandResult result =
        run_weft(scratch, "sim --cluster 3x8 --policy fifo --trace " + sixty() + " " + words);
    EXPECT_EQ(result.code, 2) << words;
    EXPECT_EQ(result.out, "") << words;
    const std::string option = std::string(words).substr(0, std::string(words).find(' '));
    EXPECT_NE(result.err.find(option), std::string::npos) << result.err;
    EXPECT_LT(result.err.size(), 200u) << result.err;
  }
}

TEST(SimOutputs, NoFileIsWrittenIfOneOfThemCannotBe) {
  const Scratch scratch;
  const std::string common = "sim --cluster 3x8 --policy fifo --trace " + sixty();
  const std::string log = scratch.path("log.txt");
  const CommandResult lost =
      run_weft(scratch, common + " --decisions " + log + " --report /nowhere/page.html");
  EXPECT_EQ(lost.code, 2);
  EXPECT_NE(lost.err.find("/nowhere/page.html"), std::string::npos) << lost.err;
  EXPECT_FALSE(std::filesystem::exists(log));

  const CommandResult twice = run_weft(scratch, common + " --jobs-out " + log + " --report " + log);
  EXPECT_EQ(twice.code, 2);
  EXPECT_NE(twice.err.find(log), std::string::npos) << twice.err;
  EXPECT_FALSE(std::filesystem::exists(log));
}

TEST(SimOutputs, AnOutputThatCannotBeWrittenIsAFailure) {
  const Scratch scratch;
  const std::string words = "sim --cluster 3x8 --policy fifo --trace " + sixty();
  for (const char* to : {" >/dev/full", " --json >/dev/full", " >&-"}) {
    const CommandResult result = run_weft(scratch, words + to);
    EXPECT_EQ(result.code, 2) << to;
    EXPECT_NE(result.err.find("standard output"), std::string::npos) << to << result.err;
  }
}

// They would be shown as two seeds of one.
TEST(SimOutputs, NothingIsComparedWithItself) {
  const Scratch scratch;
  const std::string fifo = scratch.write("mine.yaml", "base: sjf\nname: fifo\n");
  for (const std::string& words :
       {std::string("--cluster 3x8 --policy fifo,fifo"), "--cluster 3x8 --policy fifo," + fifo,
        std::string("--cluster 3x8 --cluster 3x8 --policy fifo"),
        std::string("--cluster 3x8 --policy fifo --load 1,2,1")}) {
    const CommandResult result = run_weft(scratch, "sim --trace " + sixty() + " " + words);
    EXPECT_EQ(result.code, 2) << words;
    EXPECT_NE(result.err.find("twice"), std::string::npos) << result.err;
  }
}

TEST(SimOutputs, NamesWithCommasAndQuotesStayOneCell) {
  const Scratch scratch;
  const std::string trace = scratch.write(
      "jobs.csv", "name,tenant,submit_s,duration_s,devices\n\"a,b\",\"the \"\"x\"\", y\",0,10,1\n");
  const std::string out = scratch.path("out.csv");
  const CommandResult result =
      run_weft(scratch, "sim --cluster v100:1x4,k80:1x4 --policy fifo --trace " + trace +
                            " --jobs-out " + out);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(slurp(out).find("\nfifo,\"v100:1x4,k80:1x4\",1,1,\"a,b\",\"the \"\"x\"\", y\",1,0,"),
            std::string::npos)
      << slurp(out);
}

TEST(SimOutputs, JobsOfASweepTellTheirLoad) {
  const Scratch scratch;
  const std::string out = scratch.path("out.csv");
  const CommandResult result =
      run_weft(scratch, "sim --cluster 3x8 --policy fifo --load 1,2.5 --trace " + sixty() +
                            " --jobs-out " + out);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(slurp(out).find("\nfifo,3x8,1,1,"), std::string::npos);
  EXPECT_NE(slurp(out).find("\nfifo,3x8,2.5,1,"), std::string::npos);
}

TEST(SimOutputs, RecordedOutagesAreCheckedAgainstEveryCluster) {
  const Scratch scratch;
  const std::string faults = scratch.write("faults.csv", "at_s,node,duration_s\n10,9,100\n");
  const std::string common = "sim --policy fifo --trace " + sixty() + " --faults " + faults;
  const CommandResult wide = run_weft(scratch, common + " --cluster 10x8 --cluster 12x8");
  EXPECT_EQ(wide.code, 0) << wide.err;
  const CommandResult narrow = run_weft(scratch, common + " --cluster 10x8 --cluster 3x8");
  EXPECT_EQ(narrow.code, 2) << narrow.err;
  EXPECT_NE(narrow.err.find("faults.csv:2"), std::string::npos) << narrow.err;
}

TEST(SimOutputs, NamesOfNodesInOutagesMeanThoseOfEachCluster) {
  const Scratch scratch;
  // The same name is node 0 of one cluster and node 1 of the other; the job sits on node 0.
  const std::string first = scratch.write("first.yaml",
                                          "nodes: [{name: bad, devices: 8}, {name: good, "
                                          "devices: 8}]\n");
  const std::string second = scratch.write("second.yaml",
                                           "nodes: [{name: good, devices: 8}, {name: bad, "
                                           "devices: 8}]\n");
  const std::string trace = scratch.write("jobs.csv", "submit_s,duration_s,devices\n0,1000,8\n");
  const std::string faults = scratch.write("faults.csv", "at_s,node,duration_s\n10,bad,5000\n");
  const CommandResult result =
      run_weft(scratch, "sim --policy fifo --place first-fit --json --trace " + trace +
                            " --faults " + faults + " --cluster " + first + " --cluster " + second);
  ASSERT_EQ(result.code, 0) << result.err;
  const auto runs = nlohmann::json::parse(result.out)["runs"];
  EXPECT_EQ(runs[0]["restarts"], 1);
  EXPECT_EQ(runs[1]["restarts"], 0);
}

TEST(SimOutputs, TheTableHasColumnsForTheNetworkOnlyWhenThereIsOne) {
  const Scratch scratch;
  const std::string common = "sim --cluster 8x4 --policy fifo,srtf --trace " + sixty();
  const CommandResult table = run_weft(scratch, common);
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(table.out.find("link"), std::string::npos) << table.out;
  EXPECT_EQ(table.out.find("rejected"), std::string::npos) << table.out;
  const std::string page = scratch.path("page.html");
  const CommandResult network =
      run_weft(scratch, common +
                            " --rates network --network clos:hosts_per_leaf=2,spines=1,"
                            "bandwidth=10Gb/s --report " +
                            page);
  ASSERT_EQ(network.code, 0) << network.err;
  for (const char* heading : {"contended", "link use", "busiest"}) {
    EXPECT_NE(network.out.find(heading), std::string::npos) << network.out;
  }
  EXPECT_NE(slurp(page).find("\"busiest_link_use\":"), std::string::npos);
}

TEST(SimOutputs, RejectedJobsAreInTheTable) {
  const Scratch scratch;
  const std::string policy = scratch.write(
      "strict.yaml", "base: edf\nname: strict\nallocate: {part: reserve, refused: reject}\n");
  const std::string trace = scratch.write(
      "jobs.csv", "submit_s,duration_s,devices,deadline_s\n0,1000,8,1500\n0,1000,8,1500\n");
  const std::string out = scratch.path("out.csv");
  const CommandResult result = run_weft(scratch, "sim --cluster 1x8 --policy fifo," + policy +
                                                     " --trace " + trace + " --jobs-out " + out);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("rejected"), std::string::npos) << result.out;
  EXPECT_EQ(slurp(out).find("inf"), std::string::npos) << slurp(out);
}

}  // namespace
}  // namespace weft
