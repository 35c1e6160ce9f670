#include "flow/transfer_order.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using Order = std::vector<std::uint32_t>;

TEST(TransferOrder, AChainIsServedInTheOrderOfUse) {
  // Layer i needs transfer 2 - i and all of its predecessors.
  const std::vector<Waiting> chain = {{1, {2}}, {1, {2, 1}}, {1, {2, 1, 0}}};
  EXPECT_EQ(tic_order(chain, 3), (Order{2, 1, 0}));
  EXPECT_EQ(tac_order(chain, std::vector<Seconds>{1, 5, 3}), (Order{2, 1, 0}));
}

TEST(TransferOrder, TacPrefersWhatLetsMostComputationBegin) {
  // Two branches that each wait for one transfer: TIC cannot tell them apart, TAC can.
  const std::vector<Waiting> branches = {{1, {0}}, {8, {1}}, {1, {0, 1}}};
  EXPECT_EQ(tic_order(branches, 2), (Order{0, 1}));
  EXPECT_EQ(tac_order(branches, std::vector<Seconds>{4, 4}), (Order{1, 0}));
}

TEST(TransferOrder, TacFinishesTheSmallerGroupFirst) {
  // No transfer alone lets anything begin; {2, 3} is the shorter pair.
  const std::vector<Waiting> pairs = {{5, {0, 1}}, {5, {2, 3}}};
  const Order order = tac_order(pairs, std::vector<Seconds>{4, 4, 1, 1});
  EXPECT_EQ((Order{order[0], order[1]}), (Order{2, 3}));
}

TEST(TransferOrder, WhatNobodyNeedsComesLast) {
  EXPECT_EQ(tic_order(std::vector<Waiting>{{1, {1}}}, 2), (Order{1, 0}));
  EXPECT_EQ(tac_order(std::vector<Waiting>{{1, {1}}}, std::vector<Seconds>{1, 1}), (Order{1, 0}));
}

}  // namespace
}  // namespace weft
