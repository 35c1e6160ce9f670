#include "runtime/chooser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/link_topology.h"
#include "timing/schedule_run.h"

namespace weft::runtime {
namespace {

GroupShape on_one_host(int ranks) { return {ranks, ranks, true, {}}; }
GroupShape on_hosts(int hosts, int per_host) { return {hosts * per_host, per_host, false, {}}; }

Seconds expected(const Choice& choice, const std::string& algorithm) {
  for (const Candidate& candidate : choice.considered) {
    if (candidate.algorithm == algorithm) return candidate.expected_s;
  }
  return kNever;
}

Choice all_reduce(double bytes, const GroupShape& shape, bool any_order = false) {
  return timed_chooser().choose(collective::Operation::kAllReduce, bytes, shape, {"", any_order});
}

TEST(Chooser, TimesAreThoseOfTheClosedForms) {
  GroupShape shape = on_hosts(4, 1);
  shape.links.other_host = {100e-6, 25e6};
  const double n = 64e6, add = shape.links.add_bytes_per_s;
  const Choice choice = all_reduce(n, shape);
  // Calls are compared in two rounds; a ring has six more, of a quarter each.
  EXPECT_NEAR(expected(choice, "ring"), 8 * 100e-6 + 1.5 * n / 25e6 + 0.75 * n / add, 1e-9);
  // Where several send to one at a time, 8 % of what moves is lost.
  EXPECT_NEAR(expected(choice, "halving-doubling"),
              2 * 100e-6 + 1.08 * (4 * 100e-6 + 1.5 * n / 25e6) + 0.75 * n / add, 1e-9);
  EXPECT_NEAR(expected(choice, "exchange"), 1.08 * (100e-6 + 3 * n / 25e6) + 4 * n / add, 1e-9);
  EXPECT_EQ(choice.expected_s, expected(choice, choice.algorithm));
}

TEST(Chooser, SmallDataIsExchangedAndLargeDataIsNot) {
  for (const GroupShape& shape : {on_one_host(2), on_one_host(4), on_hosts(4, 1)}) {
    EXPECT_EQ(all_reduce(4096, shape).algorithm, "exchange");
    EXPECT_EQ(all_reduce(4096, shape).slice_bytes, 0u);
    EXPECT_EQ(all_reduce(64e6, shape).algorithm, shape.one_host ? "halving-doubling" : "ring");
    EXPECT_GT(all_reduce(64e6, shape).slice_bytes, 0u);
  }
  EXPECT_EQ(all_reduce(64e6, on_one_host(3)).algorithm, "ring");
  EXPECT_EQ(all_reduce(4096, on_one_host(32)).algorithm, "halving-doubling");
}

TEST(Chooser, WhoLetsTheOrderVaryGetsWhatIsFastestOnTheMeasuredLinks) {
  GroupShape shape = on_hosts(4, 1);
  shape.links.other_host = {100e-6, 24e6};
  const Choice same_bits = all_reduce(60'000, shape);
  const Wish free{"", false, true};
  const Choice fastest =
      timed_chooser().choose(collective::Operation::kAllReduce, 60'000, shape, free);
  EXPECT_EQ(same_bits.algorithm, "exchange");
  EXPECT_NE(fastest.algorithm, "exchange");
  EXPECT_LT(fastest.expected_s, 0.8 * same_bits.expected_s);
  EXPECT_LT(slice_bytes_of("ring", shape, true), slice_bytes_of("ring", shape))
      << "a message costs less beside slow links";
  EXPECT_EQ(slice_bytes_of("ring", shape), slice_bytes_of("ring", on_hosts(4, 1)));
  GroupShape noisy = shape;
  noisy.links.other_host.bytes_per_s *= 1.2;
  EXPECT_EQ(slice_bytes_of("ring", shape, true), slice_bytes_of("ring", noisy, true));
}

TEST(Chooser, RanksOfAHostShareItsLink) {
  GroupShape shape = on_hosts(2, 4);
  shape.links.other_host = {20e-6, 1e9};  // of each of the four while all send
  const Topology topology = link_topology(shape);
  std::vector<LinkId> inside, between;
  topology.paths->path(0, 3, 0, inside);
  topology.paths->path(0, 4, 0, between);
  EXPECT_DOUBLE_EQ(topology.latency(inside), shape.links.same_host.message_s);
  EXPECT_DOUBLE_EQ(topology.latency(between), 20e-6);
  EXPECT_EQ(topology.links[between[1]].bytes_per_s, 4e9);
  // Halves that only one rank of each host carries across beat rings through every rank.
  EXPECT_EQ(all_reduce(256e6, shape).algorithm, "hierarchical");
}

TEST(Chooser, MeasuredSpeedsChangeTheChoice) {
  // A message costs far more than usual, as where ranks exceed cores.
  GroupShape slow = on_one_host(4);
  slow.links.same_host.message_s = 500e-6;
  EXPECT_EQ(all_reduce(32 << 10, on_one_host(4)).algorithm, "halving-doubling");
  EXPECT_EQ(all_reduce(32 << 10, slow, true).algorithm, "exchange");
  // Where bits could differ from one run to the next, nothing that is measured counts.
  EXPECT_EQ(all_reduce(32 << 10, slow, false).algorithm, "halving-doubling");
}

TEST(Chooser, NoiseAndSizesOfOneClassChangeNothing) {
  GroupShape shape = on_one_host(4), noisy = shape;
  noisy.links.same_host.message_s *= 1.2;
  noisy.links.same_host.bytes_per_s *= 0.9;
  for (double bytes = 64; bytes < 1e9; bytes *= 2) {
    const std::string algorithm = all_reduce(bytes, shape).algorithm;
    EXPECT_EQ(all_reduce(bytes, noisy).algorithm, algorithm) << bytes;
    EXPECT_EQ(all_reduce(bytes * 1.99, shape).algorithm, algorithm) << bytes;
  }
  EXPECT_NE(size_class(65536), size_class(65535));
}

TEST(Chooser, EveryOperationHasAnAlgorithmThatServes) {
  for (int i = 0; i < collective::kOperations; ++i) {
    for (const int ranks : {2, 3, 16, 61, 512}) {
      const auto operation = static_cast<collective::Operation>(i);
      const GroupShape shape = on_one_host(ranks);
      const Choice choice = timed_chooser().choose(operation, 1e6, shape, {});
      EXPECT_TRUE(
          collective::generate(choice.algorithm, {.operation = operation, .ranks = ranks}).ok())
          << collective::name_of(operation) << ", " << ranks;
    }
  }
}

TEST(Chooser, AWishIsTakenAndTimed) {
  const Choice choice = timed_chooser().choose(collective::Operation::kAllReduce, 4096,
                                               on_one_host(4), {"ring", false});
  EXPECT_EQ(choice.algorithm, "ring");
  ASSERT_EQ(choice.considered.size(), 1u);
  EXPECT_LT(choice.expected_s, 1);
  const Choice rare = timed_chooser().choose(collective::Operation::kAllReduce, 4096,
                                             on_one_host(4), {"double-binary-tree", false});
  EXPECT_EQ(rare.algorithm, "double-binary-tree");
  EXPECT_LT(rare.expected_s, 1);
}

}  // namespace
}  // namespace weft::runtime
