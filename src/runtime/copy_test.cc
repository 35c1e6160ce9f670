#include "runtime/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "base/vector_testing.h"

namespace weft::runtime {
namespace {

constexpr std::byte kGuard{0xA5};
constexpr std::size_t kMargin = 64;

class CopyTest : public ::testing::TestWithParam<std::int64_t> {
 protected:
  UseVectorTarget use_{GetParam()};

  static std::vector<std::byte> draw(std::size_t bytes) {
    Random random(7);
    std::vector<std::byte> source(bytes);
    for (std::byte& b : source) b = static_cast<std::byte>(random.next() >> 56);
    return source;
  }
  // Whether `target` holds `source` at `at` and guards elsewhere.
  static bool holds(const std::vector<std::byte>& target, std::size_t at,
                    const std::vector<std::byte>& source) {
    std::vector<std::byte> want(target.size(), kGuard);
    std::copy(source.begin(), source.end(), want.begin() + static_cast<std::ptrdiff_t>(at));
    return target == want;
  }
};

TEST_P(CopyTest, CopyTwiceFillsBothAndNothingElse) {
  for (std::size_t bytes = 0; bytes <= 260; ++bytes) {
    const auto source = draw(bytes);
    const std::size_t skew = bytes % 17;
    std::vector<std::byte> first(bytes + 2 * kMargin, kGuard), second = first;
    copy_twice(first.data() + skew, second.data() + kMargin, source.data(), bytes);
    EXPECT_TRUE(holds(first, skew, source)) << bytes;
    EXPECT_TRUE(holds(second, kMargin, source)) << bytes;
  }
}

TEST_P(CopyTest, StreamedOrNotTheBytesAreTheSame) {
  for (const std::size_t about : {0, 64, 32000, 32768, 100000}) {
    for (std::size_t skew = 0; skew < 70; skew += 3) {
      const auto source = draw(about + skew * 5);
      for (const bool streaming : {false, true}) {
        std::vector<std::byte> target(source.size() + 2 * kMargin, kGuard);
        copy_bytes(target.data() + skew % 64, source.data(), source.size(), streaming);
        EXPECT_TRUE(holds(target, skew % 64, source)) << source.size() << " at " << skew;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, CopyTest, ::testing::ValuesIn(vector_targets()), vector_target_name);

}  // namespace
}  // namespace weft::runtime
