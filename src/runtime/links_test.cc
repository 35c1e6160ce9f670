#include "runtime/links.h"

#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

TEST(Links, TextAndNumbersComeBack) {
  const LinkSpeeds links{{2.5e-6, 8e9}, {0.0012, 25e6}, 16e9};
  EXPECT_EQ(to_text(links), "2.50us,8.00GB/s,1.20ms,25.0MB/s,16.0GB/s");
  const auto read = parse_links(to_text(links));
  ASSERT_TRUE(read.ok()) << read.error().what;
  for (std::size_t i = 0; i < kLinkNumbers; ++i) {
    EXPECT_NEAR(numbers_of(*read)[i] / numbers_of(links)[i], 1, 1e-12) << i;
  }
  EXPECT_EQ(*links_of(numbers_of(links)), links);
}

TEST(Links, WhatIsNoSpeedIsRefused) {
  for (const char* text : {"", ",", "1us", "1us,8GB/s,1ms,25MB/s", "1us,8GB/s,1ms,25MB/s,1GB/s,1us",
                           "0us,8GB/s,1ms,25MB/s,1GB/s", "1us,8,1ms,25MB/s,1GB/s",
                           "-1us,8GB/s,1ms,25MB/s,1GB/s", "1us,8GB/s,1ms,25MB/s,"}) {
    EXPECT_FALSE(parse_links(text).ok()) << text;
  }
  EXPECT_FALSE(links_of({1, 1, 1, 1, 0}).ok());
  EXPECT_FALSE(links_of({1, -1, 1, 1, 1}).ok());
  EXPECT_FALSE(links_of({1, 1, 1.0 / 0.0, 1, 1}).ok());
}

TEST(Links, RoundingKeepsNoiseOut) {
  const LinkSpeeds links{{0x1p-20, 0x1p34}, {0x1p-10, 0x1p24}, 0x1p34};
  EXPECT_EQ(rounded(links), links);
  LinkSpeeds noisy = links;
  noisy.same_host.bytes_per_s *= 1.9;
  noisy.other_host.message_s *= 0.6;
  EXPECT_EQ(rounded(noisy), links);
  noisy.same_host.bytes_per_s *= 1.1;
  EXPECT_NE(rounded(noisy), rounded(links));
}

}  // namespace
}  // namespace weft::runtime
