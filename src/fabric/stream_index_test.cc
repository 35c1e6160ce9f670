#include "fabric/stream_index.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace weft {
namespace {

TEST(StreamIndex, IsEmptyAtFirst) {
  const StreamIndex index;
  EXPECT_EQ(index.find(0), StreamIndex::kNone);
  EXPECT_EQ(index.size(), 0u);
}

// Against std::map, with few keys (long probes, many that come back) and with many (growth).
TEST(StreamIndex, DoesAsAMapDoes) {
  for (std::uint64_t keys : {7u, 60u, 5000u}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(testing::Message() << keys << " keys, seed " << seed);
      Random random(seed);
      StreamIndex index;
      std::map<std::uint64_t, std::uint32_t> want;
      for (std::uint32_t i = 0; i < 20000; ++i) {
        const std::uint64_t key = random.below(keys);
        ASSERT_EQ(index.find(key), want.contains(key) ? want[key] : StreamIndex::kNone);
        if (want.erase(key) > 0) {
          index.erase(key);
        } else {
          index.insert(key, i);
          want[key] = i;
        }
        ASSERT_EQ(index.size(), want.size());
      }
      for (std::uint64_t key = 0; key < keys; ++key) {
        ASSERT_EQ(index.find(key), want.contains(key) ? want[key] : StreamIndex::kNone);
      }
    }
  }
}

}  // namespace
}  // namespace weft
