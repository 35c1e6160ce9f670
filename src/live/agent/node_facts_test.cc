#include "live/agent/node_facts.h"

#include <gtest/gtest.h>

namespace weft::live {
namespace {

NodeWishes wishes(const std::string& node) {
  NodeWishes result;
  result.node = node;
  return result;
}

TEST(NodeFacts, ListsOfProcessorsAreRead) {
  EXPECT_EQ(*parse_cpu_list("0"), std::vector{0});
  EXPECT_EQ(*parse_cpu_list("4,0-2,1"), (std::vector{0, 1, 2, 4}));
  for (const char* wrong : {"", ",", "1,", "a", "3-1", "-1", "1-", "1--2", "99999"}) {
    EXPECT_FALSE(parse_cpu_list(wrong).ok()) << wrong;
  }
}

TEST(NodeFacts, WishesComeBeforeWhatIsFound) {
  const auto found = discover_node(wishes("n"));
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->devices.empty());
  EXPECT_GT(found->memory, 0);
  NodeWishes some = wishes("n");
  some.devices = 3;
  some.cpu_milli = 700;
  some.memory = 3000;
  const auto wished = discover_node(some);
  ASSERT_TRUE(wished.ok());
  ASSERT_EQ(wished->devices.size(), 3U);
  EXPECT_EQ(wished->devices[1].kind, "cpu-slot");
  EXPECT_EQ(wished->devices[1].memory, 1000);
  EXPECT_EQ(wished->cpu_milli, 700);
  some.cpus = "1000";
  EXPECT_FALSE(discover_node(some).ok());
  for (const char* name : {"", "a/b", "..", "with space"}) {
    EXPECT_FALSE(discover_node(wishes(name)).ok()) << name;
  }
}

TEST(NodeFacts, OthersDoNotReachAMachineAtItsLoopbackAddress) {
  for (const char* there : {"127.0.0.1:7777", "[::1]:7777", "localhost:7777", "", "no port", ":"}) {
    EXPECT_EQ(address_towards(there), "") << there;
  }
}

}  // namespace
}  // namespace weft::live
