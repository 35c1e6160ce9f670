#include "runtime/launch/hosts.h"

#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

TEST(Hosts, AreReadWithSlotsAndAddresses) {
  const auto hosts = parse_hosts(
      "# the lab\n"
      "localhost slots=2 address=10.0.0.1\r\n"
      "\n"
      "alice@node-7.lab   slots=3   # the big one\n"
      "[fe80::1%eth0]",
      "hosts.txt");
  ASSERT_TRUE(hosts.ok()) << hosts.error().text();
  ASSERT_EQ(hosts->size(), 3u);
  EXPECT_TRUE((*hosts)[0].local());
  EXPECT_EQ((*hosts)[0].address, "10.0.0.1");
  EXPECT_EQ((*hosts)[1].name, "alice@node-7.lab");
  EXPECT_EQ((*hosts)[1].slots, 3);
  EXPECT_FALSE((*hosts)[1].local());
  EXPECT_EQ((*hosts)[2].slots, 1);
  EXPECT_EQ(slots_of(*hosts), 6);
}

TEST(Hosts, MistakesAreToldTogether) {
  const auto hosts = parse_hosts(
      "-oProxyCommand=evil\na slots=0\na\nb;rm slots=1\nc slots=many\nd cores=3\n", "h");
  ASSERT_FALSE(hosts.ok());
  for (const char* part :
       {"h:1: '-oProxyCommand=evil' is not", "h:2: slots is '0'", "h:3: host a is named twice",
        "h:4: 'b;rm' is not", "h:5: slots is 'many'", "h:6: 'cores=3' is neither"}) {
    EXPECT_NE(hosts.error().what.find(part), std::string::npos) << part << " is not in\n"
                                                                << hosts.error().what;
  }
  EXPECT_FALSE(parse_hosts("# nobody\n", "h").ok());
}

TEST(Hosts, RanksFillThemInOrder) {
  const std::vector<Host> hosts = {{"a", "", 2}, {"b", "", 3}, {"c", "", 9}};
  struct Row {
    const char* why;
    int rank, world;
    std::size_t host;
    int local_rank, local_world, groups;
  };
  for (const Row& row : std::vector<Row>{
           {"the first of the first host", 0, 4, 0, 0, 2, 2},
           {"the last of the first host", 1, 4, 0, 1, 2, 2},
           {"a host that is not full", 3, 4, 1, 1, 2, 2},
           {"a host that is full", 4, 6, 1, 2, 3, 3},
           {"the last host", 5, 6, 2, 0, 1, 3},
           {"one rank alone", 0, 1, 0, 0, 1, 1},
       }) {
    SCOPED_TRACE(row.why);
    const Place place = place_of(hosts, row.rank, row.world);
    EXPECT_EQ(place.host, row.host);
    EXPECT_EQ(place.local_rank, row.local_rank);
    EXPECT_EQ(place.local_world, row.local_world);
    EXPECT_EQ(place.groups, row.groups);
  }
}

}  // namespace
}  // namespace weft::runtime
