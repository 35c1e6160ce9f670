#include "live/agent/control_groups.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "live/agent/agent_testing.h"

namespace weft::live {
namespace {

TEST(ControlGroups, AreFoundWhereTheKernelSaysTheyAre) {
  const TestFolder folder;
  folder.write("u/own/cgroup.controllers", "cpu memory hugetlb\n");
  const std::string mounts =
      "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
      "cgroup /v1/cpu cgroup rw,relatime,cpu,cpuacct 0 0\n"
      "cgroup /v1/mem cgroup rw,relatime,memory 0 0\n"
      "cgroup2 " +
      folder.path("u") + " cgroup2 rw,relatime 0 0\n";
  const auto bases = find_group_bases(mounts, "4:memory:/a/b\n1:cpu,cpuacct:/\n0::/own\n");
  ASSERT_TRUE(bases.contains("cpu") && bases.contains("memory") && bases.contains("freezer"));
  EXPECT_EQ(bases.at("cpu").folder, "/v1/cpu");
  EXPECT_FALSE(bases.at("cpu").unified) << "the first version has it already";
  EXPECT_EQ(bases.at("cpuacct").folder, "/v1/cpu");
  EXPECT_EQ(bases.at("memory").folder, "/v1/mem/a/b");
  EXPECT_EQ(bases.at("freezer").folder, folder.path("u/own"));
  EXPECT_TRUE(bases.at("freezer").unified);
  EXPECT_FALSE(bases.contains("devices"));
  EXPECT_TRUE(find_group_bases("", "").empty());
}

// A tree of plain files in place of the kernel's: what would be written.
class UnifiedTree : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* group : {"", "weft/", "weft/n/", "weft/n/run.1.0/"}) {
      for (const char* file :
           {"cgroup.subtree_control", "cpu.max", "cpu.weight", "memory.max", "memory.low",
            "memory.oom.group", "cpuset.cpus", "cgroup.freeze", "cgroup.procs"}) {
        folder_.write(std::string("u/") + group + file, "");
      }
    }
    std::map<std::string, GroupBase> bases;
    for (const char* name : {"cpu", "cpuacct", "cpuset", "memory", "freezer"}) {
      bases[name] = {folder_.path("u"), true};
    }
    GroupLimits limits;
    limits.cpu_milli = 1500;
    groups_ = ControlGroups::open(bases, "n", limits, notes_);
  }

  std::string file(const std::string& name) const { return folder_.read("u/weft/n/" + name); }

  TestFolder folder_;
  std::vector<std::string> notes_;
  ControlGroups groups_;
};

TEST_F(UnifiedTree, LimitsAreWrittenInTheWordsOfTheSecondVersion) {
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(file("cpu.max"), "30000 20000");
  RankSetup setup;
  GroupLimits limits;
  limits.cpu_milli = 250;
  limits.weight_milli = 300;
  limits.memory = 4096;
  limits.cpus = {1, 3};
  groups_.plan("run.1.0", setup);
  ASSERT_TRUE(groups_.make(setup, limits).ok());
  EXPECT_EQ(file("run.1.0/cpu.max"), "5000 20000");
  EXPECT_EQ(file("run.1.0/cpu.weight"), "30");
  EXPECT_EQ(file("run.1.0/memory.max"), "4096");
  EXPECT_EQ(file("run.1.0/memory.oom.group"), "1");
  EXPECT_EQ(file("run.1.0/cpuset.cpus"), "1,3");
  EXPECT_EQ(setup.group_files, std::vector{folder_.path("u/weft/n/run.1.0/cgroup.procs")});
  EXPECT_EQ(setup.freeze_file, folder_.path("u/weft/n/run.1.0/cgroup.freeze"));
  EXPECT_EQ(setup.thaw_word, "0");
  EXPECT_EQ(setup.oom_file, folder_.path("u/weft/n/run.1.0/memory.events"));
  const RankSetup again = read_rank_setup(to_json(setup));
  EXPECT_EQ(again.groups, setup.groups);
  EXPECT_EQ(again.oom_file, setup.oom_file);
}

TEST_F(UnifiedTree, KeptMemoryIsNoLimit) {
  RankSetup setup;
  GroupLimits limits;
  limits.weight_milli = 4000;
  limits.kept_memory = 8192;
  groups_.plan("run.1.0", setup);
  ASSERT_TRUE(groups_.make(setup, limits).ok());
  EXPECT_EQ(file("run.1.0/cpu.max"), "max 20000");
  EXPECT_EQ(file("run.1.0/cpu.weight"), "400");
  EXPECT_EQ(file("run.1.0/memory.max"), "max");
  EXPECT_EQ(file("run.1.0/memory.low"), "8192");
}

TEST(ControlGroups, WithoutAnyNothingIsPromised) {
  std::vector<std::string> notes;
  const auto groups =
      ControlGroups::open({{"cpu", {"/no/such/folder", false}}}, "n", GroupLimits{}, notes);
  EXPECT_TRUE(groups.can().empty());
  EXPECT_EQ(notes.size(), 1U);
  RankSetup setup;
  groups.plan("run.1.0", setup);
  EXPECT_TRUE(groups.make(setup, {}).ok());
  EXPECT_TRUE(setup.group_files.empty());
  EXPECT_TRUE(clear_groups(setup));
  EXPECT_FALSE(usage_of_groups(setup));
}

}  // namespace
}  // namespace weft::live
