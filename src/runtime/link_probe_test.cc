// Groups measure their links when they start, and all ranks have the same numbers, also those that
// come later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/chooser.h"
#include "runtime/group_testing.h"

namespace weft::runtime {
namespace {

using testing::HasSubstr;

class LinkProbe : public testing::TestWithParam<Medium> {};
INSTANTIATE_TEST_SUITE_P(All, LinkProbe, testing::ValuesIn(ways()),
                         [](const auto& p) { return name_of(p.param); });

TEST_P(LinkProbe, MeasuresTheKindOfPairThatThereIs) {
  const LinkSpeeds usual;
  for (const int ranks : {2, 3, 5}) {
    Ranks world(ranks, GetParam());
    world.start();
    const LinkSpeeds links = world.group(0)->links();
    for (int rank = 1; rank < ranks; ++rank) EXPECT_EQ(world.group(rank)->links(), links);
    const bool memory = GetParam() == Medium::kMemory;
    const LinkSpeed& measured = memory ? links.same_host : links.other_host;
    const LinkSpeed& untouched = memory ? links.other_host : links.same_host;
    EXPECT_EQ(untouched, memory ? usual.other_host : usual.same_host);
    EXPECT_NE(measured, memory ? usual.same_host : usual.other_host);
    EXPECT_GT(measured.message_s, 50e-9);
    EXPECT_LT(measured.message_s, time_factor());
    EXPECT_GT(measured.bytes_per_s, 1e6 / time_factor());
    EXPECT_LT(measured.bytes_per_s, 1e12);
    EXPECT_GT(links.add_bytes_per_s, 1e7);
  }
}

TEST_P(LinkProbe, ARankAloneMeasuresNothing) {
  Ranks world(1, GetParam());
  world.start();
  EXPECT_EQ(world.group(0)->links(), LinkSpeeds{});
}

TEST_P(LinkProbe, GivenSpeedsAreTakenFromRankZero) {
  Ranks world(3, GetParam());
  world.base.links = "1us,2GB/s,3us,4GB/s,5GB/s";
  world.start();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(to_text(world.group(rank)->links()), "1.00us,2.00GB/s,3.00us,4.00GB/s,5.00GB/s");
  }
}

TEST(LinkProbeOptions, SpeedsThatAreNoneEndTheStart) {
  Ranks world(1);
  GroupOptions options = world.options(0);
  options.links = "fast";
  const auto group = Group::start(options);
  ASSERT_FALSE(group.ok());
  EXPECT_THAT(group.error().what, HasSubstr("'fast'"));
}

TEST_P(LinkProbe, WhoJoinsChoosesAsTheOthersDo) {
  Ranks world(2, GetParam());
  world.base.links = "70us,2GB/s,300us,4GB/s,5GB/s";
  world.start();
  std::vector<LinkSpeeds> links(3);
  Ranks::each({0, 1, 2}, [&](int rank) {
    if (rank == 2) {
      GroupOptions options = world.options(2);
      options.join = true;
      options.links = "";
      const auto group = Group::start(options);
      ASSERT_TRUE(group.ok()) << group.error().what;
      links[2] = (*group)->links();
      EXPECT_TRUE((*group)->barrier()->wait().ok());
      (*group)->leave();
      return;
    }
    Group& group = *world.group(rank);
    while (group.joiners() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto membership = group.reform(2 * time_factor());
    ASSERT_TRUE(membership.ok()) << membership.error().what;
    links[static_cast<std::size_t>(rank)] = group.links();
    EXPECT_TRUE(group.barrier()->wait().ok());
  });
  EXPECT_EQ(to_text(links[0]), "70.0us,2.00GB/s,300us,4.00GB/s,5.00GB/s");
  EXPECT_EQ(links[1], links[0]);
  EXPECT_EQ(links[2], links[0]);
}

TEST_P(LinkProbe, AGroupExplainsWhatItDoes) {
  Ranks world(2, GetParam());
  world.start();
  const Choice choice = world.group(0)->explain(Operation::kAllReduce, 4096);
  EXPECT_FALSE(choice.algorithm.empty());
  EXPECT_GE(choice.considered.size(), 3u);
  EXPECT_GT(choice.expected_s, 0);
  EXPECT_EQ(world.group(1)->explain(Operation::kAllReduce, 4096).algorithm, choice.algorithm);
}

}  // namespace
}  // namespace weft::runtime
