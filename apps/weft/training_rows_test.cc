#include "training_rows.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

const char* const kRank0 = R"({"rank":0,"parameters":8,"warm_up":1,"loss":[4,2,1],"end_s":[1,2,5],)"
                           R"("common":[true,true,true],"sent_bytes":200})";
const char* const kRank1 = R"({"rank":1,"parameters":8,"warm_up":1,"loss":[6,2,3],"end_s":[1,3,4],)"
                           R"("common":[true,false,true],"sent_bytes":400})";

TEST(TrainingRows, RanksBecomeOneRun) {
  const auto run = read_training(std::string("a warning\n") + kRank0 + "\n" + kRank1 + "\n", 2);
  ASSERT_TRUE(run.ok()) << run.error().what;
  EXPECT_DOUBLE_EQ(run->step_s, 2);            // rank 0: (5 - 1) / 2
  EXPECT_DOUBLE_EQ(run->bytes_per_step, 150);  // (200 + 400) / 2 steps / 2 ranks
  EXPECT_EQ(run->loss, (std::vector<double>{5, 2, 2}));
  EXPECT_EQ(run->end_s, (std::vector<double>{1, 3, 5}));
  // The second step was with parameters that differed.
  EXPECT_EQ(time_to_loss(*run, 2.5), 5);
  EXPECT_EQ(time_to_loss(*run, 1.5), std::nullopt);
}

TEST(TrainingRows, TheLossThatAllReached) {
  TrainingRun a, b;
  a.loss = {5, 1, 2}, a.common = {true, true, true};
  b.loss = {5, 0.5, 3}, b.common = {true, false, true};
  EXPECT_DOUBLE_EQ(loss_reached_by_all({a, b}), 3);
}

TEST(TrainingRows, WhatIsNotWholeIsAnError) {
  EXPECT_FALSE(read_training(kRank0, 2).ok());
  EXPECT_FALSE(read_training("{\"rank\":0}", 1).ok());
  EXPECT_FALSE(read_training("{", 1).ok());
}

}  // namespace
}  // namespace weft
