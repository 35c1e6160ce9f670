#include "sim/outage_reader.h"

#include <gtest/gtest.h>

#include "sim/sim_testing.h"

namespace weft {
namespace {

TEST(OutageReader, ReadsNodesAndDevicesInOrderOfTime) {
  Cluster cluster = testing_cluster("2x4");
  cluster.nodes[1].name = "rack7";
  const auto good = parse_outages("at_s,node,duration_s,device\n50,rack7,10,2\n20,0,1.5\n30,0,4,\n",
                                  "outages.csv", cluster);
  ASSERT_TRUE(good.ok()) << good.error().text();
  ASSERT_EQ(good->size(), 3u);
  EXPECT_EQ((*good)[0].at, 20);
  EXPECT_EQ((*good)[0].device, kNoDevice);
  EXPECT_EQ((*good)[1].device, kNoDevice);
  EXPECT_EQ((*good)[2].node, 1u);
  EXPECT_EQ((*good)[2].device, 6u);
}

TEST(OutageReader, NamesEveryMistakeWithItsLine) {
  const Cluster cluster = testing_cluster("1x4");
  const auto outages = parse_outages(
      "at_s,node,duration_s,notice_s,device\n"
      "-1,0,5\n"
      "1,9,nan\n"
      "1,0\n"
      "1,0,5,0,4\n",
      "o.csv", cluster);
  ASSERT_FALSE(outages.ok());
  const std::string& what = outages.error().what;
  for (const char* part :
       {"o.csv:2: at_s is '-1'", "o.csv:3: node '9'", "o.csv:3: duration_s is 'nan'",
        "o.csv:4: 2 columns", "o.csv:5: device is '4'"}) {
    EXPECT_NE(what.find(part), std::string::npos) << part << " in\n" << what;
  }
  EXPECT_FALSE(parse_outages("at_s,node,duration_s,colour\n", "o.csv", cluster).ok());
  EXPECT_FALSE(parse_outages("", "o.csv", cluster).ok());
}

}  // namespace
}  // namespace weft
