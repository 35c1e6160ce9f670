#include "policy/node_index.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace weft {
namespace {

TEST(BitTree, AgreesWithASetOfIntegers) {
  for (const std::uint32_t size : {1u, 2u, 63u, 64u, 65u, 4096u, 4097u, 300000u}) {
    Random random(size);
    BitTree tree(size);
    std::set<std::uint32_t> plain;
    for (int step = 0; step < 2000; ++step) {
      const auto i = static_cast<std::uint32_t>(random.below(size));
      if (random.chance(0.5)) {
        tree.insert(i);
        plain.insert(i);
      } else {
        tree.erase(i);
        plain.erase(i);
      }
      const auto from = static_cast<std::uint32_t>(random.below(size + 2));
      const auto want = plain.lower_bound(from);
      ASSERT_EQ(tree.next(from), want == plain.end() ? BitTree::kNone : *want)
          << "size " << size << " step " << step << " from " << from;
      ASSERT_EQ(tree.contains(i), plain.contains(i));
      ASSERT_EQ(tree.empty(), plain.empty());
    }
  }
}

TEST(BitTree, OfNothingHasNoMember) {
  EXPECT_EQ(BitTree(0).next(0), BitTree::kNone);
  EXPECT_TRUE(BitTree(0).empty());
}

// Free devices of each node; -1: not filed.
struct PlainIndex {
  std::vector<int> free;

  template <typename Better>
  NodeId find(int devices, Better better) const {
    NodeId best = kNoNode;
    for (NodeId n = 0; n < free.size(); ++n) {
      if (free[n] >= devices && (best == kNoNode || better(free[n], free[best]))) best = n;
    }
    return best;
  }
};

TEST(NodeIndex, AgreesWithAWalkOverAllNodes) {
  Random random(11);
  constexpr std::uint32_t kNodes = 150, kMost = 8;
  NodeIndex index(kNodes, kMost);
  PlainIndex plain{std::vector<int>(kNodes, -1)};
  for (int step = 0; step < 5000; ++step) {
    const auto node = static_cast<NodeId>(random.below(kNodes));
    int& free = plain.free[node];
    if (free >= 0) index.unfile(node, static_cast<std::uint32_t>(free));
    free = static_cast<int>(random.below(kMost + 2)) - 1;
    if (free >= 0) index.file(node, static_cast<std::uint32_t>(free));

    const int asked = static_cast<int>(random.below(kMost + 1));
    const auto devices = static_cast<std::uint32_t>(asked);
    ASSERT_EQ(index.first_fit(devices), plain.find(asked, [](int, int) { return false; }));
    ASSERT_EQ(index.best_fit(devices), plain.find(asked, [](int a, int b) { return a < b; }));
    ASSERT_EQ(index.worst_fit(devices), plain.find(asked, [](int a, int b) { return a > b; }));
    NodeId from = static_cast<NodeId>(random.below(kNodes)), exact = kNoNode, first = kNoNode;
    for (NodeId n = kNodes; n-- > from;) {
      if (plain.free[n] == asked) exact = n;
      if (plain.free[n] >= asked) first = n;
    }
    ASSERT_EQ(index.exact(devices, from), exact);
    ASSERT_EQ(index.first_fit(devices, from), first);
  }
}

TEST(NodeIndex, NeverFindsMoreThanANodeCanHave) {
  NodeIndex index(4, 8);
  index.file(2, 8);
  EXPECT_EQ(index.first_fit(9), kNoNode);
  EXPECT_EQ(index.best_fit(9), kNoNode);
  EXPECT_EQ(index.worst_fit(9), kNoNode);
  EXPECT_EQ(index.exact(9), kNoNode);
  EXPECT_EQ(index.max_devices(), 8u);
}

}  // namespace
}  // namespace weft
