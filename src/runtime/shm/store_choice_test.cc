#include "runtime/shm/store_choice.h"

#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

// Writes `messages` of `bytes` at the given costs and says how many of the last half went around.
double share_around(StoreChoice& choice, std::size_t bytes, double through_ns_per_byte,
                    double around_ns_per_byte, int messages) {
  int around = 0;
  for (int i = 0; i < messages; ++i) {
    const auto decision = choice.next(bytes, false);
    if (i >= messages / 2) around += decision.around ? 1 : 0;
    if (!decision.timed) continue;
    // Every ninth time is that of a process which lost its processor meanwhile.
    const double cost = decision.around ? around_ns_per_byte : through_ns_per_byte;
    const double lost = i % 9 == 0 ? 1e6 : 0;
    choice.tell(bytes, decision.around,
                static_cast<std::int64_t>(cost * static_cast<double>(bytes) + lost));
  }
  return around / (messages * 0.5);
}

TEST(StoreChoice, TakesTheCheaperWay) {
  // ns per byte measured with and without a shared cache, for 64 KiB.
  StoreChoice choice;
  EXPECT_LT(share_around(choice, 65536, 0.03, 0.03, 2000), 0.02);
  EXPECT_GT(share_around(choice, 65536, 0.43, 0.03, 2000), 0.97);
  EXPECT_LT(share_around(choice, 65536, 0.03, 0.03, 2000), 0.02);  // and back again
}

TEST(StoreChoice, SizesAreJudgedApart) {
  StoreChoice choice;
  EXPECT_GT(share_around(choice, 16384, 0.13, 0.016, 1000), 0.97);
  EXPECT_LT(share_around(choice, 4096, 0.05, 0.03, 1000), 0.02);
  EXPECT_GT(share_around(choice, 262144, 0.4, 0.04, 1000), 0.97);
}

TEST(StoreChoice, ShortMessagesGoThroughTheCaches) {
  StoreChoice choice;
  for (int i = 0; i < 300; ++i) EXPECT_FALSE(choice.next(4095, true).around);
}

TEST(StoreChoice, AWishIsGrantedAndNotTimed) {
  StoreChoice choice;
  const auto decision = choice.next(65536, true);
  EXPECT_TRUE(decision.around);
  EXPECT_FALSE(decision.timed);
}

}  // namespace
}  // namespace weft::runtime
