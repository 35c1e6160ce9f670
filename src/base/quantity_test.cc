#include "base/quantity.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Quantity, BytesKnowDecimalAndBinaryPrefixesAndBits) {
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("100MB"), 100e6);
  EXPECT_EQ(parse_bytes(" 64 KiB "), 65536);
  EXPECT_EQ(parse_bytes("1.5GiB"), 1.5 * 1073741824.0);
  EXPECT_EQ(parse_bytes("8Gb"), 1e9);
  EXPECT_EQ(parse_bytes("1e3B"), 1000);
  EXPECT_EQ(parse_bytes("2e-1KB"), 200);
  for (const char* bad :
       {"", "MB", "-1MB", "1XB", "1MBB", "1e400", "nan", "inf", "1MB/s", "0x10"}) {
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  }
}

TEST(Quantity, BandwidthTellsBitsFromBytesAndWantsAUnit) {
  EXPECT_EQ(parse_bytes_per_s("12.5GB/s"), 12.5e9);
  EXPECT_EQ(parse_bytes_per_s("100Gb/s"), 12.5e9);
  EXPECT_EQ(parse_bytes_per_s("100Gbps"), 12.5e9);
  EXPECT_EQ(parse_bytes_per_s("100Gbit/s"), 12.5e9);
  EXPECT_EQ(parse_bytes_per_s("0GB/s"), 0);
  for (const char* bad : {"12.5", "12.5GB", "100G/s", "-1GB/s", "1gb/s", "/s", "ps"}) {
    EXPECT_EQ(parse_bytes_per_s(bad), std::nullopt) << bad;
  }
}

TEST(Quantity, SecondsAreTheNearestDouble) {
  EXPECT_EQ(parse_seconds("5us"), 5e-6);
  EXPECT_EQ(parse_seconds("5µs"), 5e-6);
  EXPECT_EQ(parse_seconds("1.5ms"), 1.5e-3);
  EXPECT_EQ(parse_seconds("10ns"), 1e-8);
  EXPECT_EQ(parse_seconds("2min"), 120);
  EXPECT_EQ(parse_seconds("1h"), 3600);
  EXPECT_EQ(parse_seconds("0.25"), 0.25);
  EXPECT_EQ(parse_seconds("3m"), std::nullopt);
  EXPECT_EQ(parse_seconds("-1s"), std::nullopt);
}

TEST(Quantity, TextsCarryThreeDigitsAndAUnit) {
  EXPECT_EQ(bytes_text(100e6), "100 MB");
  EXPECT_EQ(bytes_text(999.9e6), "1.00 GB");
  EXPECT_EQ(bytes_per_s_text(12.5e9), "12.5 GB/s");
  EXPECT_EQ(seconds_text(5e-6), "5.00 us");
  EXPECT_EQ(seconds_text(0), "0 s");
  EXPECT_EQ(seconds_text(90), "90.0 s");
}

}  // namespace
}  // namespace weft
