#include "live/job/job_text.h"

#include <gtest/gtest.h>

#include <csignal>

namespace weft::live {
namespace {

TEST(JobText, Durations) {
  const std::vector<std::pair<const char*, std::optional<double>>> cases = {
      {"90", 90},          {"1.5", 1.5},   {"30s", 30},
      {"10min", 600},      {"10m", 600},   {"1h30m", 5400},
      {"1h30min5s", 5405}, {"2d", 172800}, {"500ms", 0.5},
      {" 2 h ", 7200},     {"0", 0},       {"", {}},
      {"h", {}},           {"30s1h", {}},  {"1h1h", {}},
      {"10min5m", {}},     {"-5s", {}},    {"5 weeks", {}},
      {"1e400", {}},       {"nan", {}},    {"1h30", {}},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(parse_duration(text), want) << text;
}

TEST(JobText, Instants) {
  const std::vector<std::pair<const char*, std::optional<double>>> cases = {
      {"1970-01-01T00:00:00Z", 0},
      {"2026-11-16T18:00:00Z", 1794852000},
      {"2026-11-16 19:00+01:00", 1794852000},
      {"2026-11-16T12:30:00-0530", 1794852000},
      {"2024-02-29T00:00Z", 1709164800},
      {"2026-02-29T00:00Z", {}},
      {"2026-11-16T18:00:00", {}},
      {"2026-11-16", {}},
      {"2026-11-16T24:00Z", {}},
      {"2026-11-16T18:00:00Zx", {}},
      {"0001-01-01T00:00Z", {}},
      {"", {}},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(parse_instant(text), want) << text;
  EXPECT_EQ(instant_text(1794852000), "2026-11-16T18:00:00Z");
}

TEST(JobText, Arrays) {
  for (const char* const text : {"0-99%8", "1,3,5-7", "0-10:2", "5", "0-0:2%1"}) {
    const Result<JobArray> array = parse_array(text);
    ASSERT_TRUE(array.ok()) << text << ": " << array.error().text();
    EXPECT_EQ(array_text(*array), text);
  }
  EXPECT_EQ(member_count(*parse_array("0-10:2,20")), 7);
  EXPECT_EQ(member_count(JobArray{}), 0);
  for (const char* const text : {"", ",", "1-", "-1", "3-1", "1:2", "1-5:0", "0-9%0", "0-9%", "a",
                                 "+1", "0-10000", "1-4000001:4000000", "0-9%8%2"}) {
    EXPECT_FALSE(parse_array(text).ok()) << text;
  }
}

TEST(JobText, Accelerators) {
  EXPECT_EQ(parse_accelerator("H100:8"), (AcceleratorChoice{"H100", 8}));
  EXPECT_EQ(parse_accelerator("8"), (AcceleratorChoice{"", 8}));
  EXPECT_EQ(parse_accelerator("any"), (AcceleratorChoice{"", 1}));
  EXPECT_EQ(accelerator_text({"", 2}), "any:2");
  for (const char* const text : {"", ":8", "H100:", "H100:0", "H100:65", "H100:0.5", "H100:-1"}) {
    EXPECT_EQ(parse_accelerator(text), std::nullopt) << text;
  }
}

TEST(JobText, MemoryIsGibWithoutAUnit) {
  EXPECT_EQ(parse_memory("32"), 32 * 0x1p30);
  EXPECT_EQ(parse_memory("0.5"), 0x1p29);
  EXPECT_EQ(parse_memory("512MB"), 512e6);
  EXPECT_EQ(parse_memory("16GiB"), 16 * 0x1p30);
  for (const char* const text : {"", "0", "-1", "x", "1e30"}) {
    EXPECT_EQ(parse_memory(text), std::nullopt) << text;
  }
}

TEST(JobText, Signals) {
  EXPECT_EQ(signal_name("usr1"), "SIGUSR1");
  EXPECT_EQ(signal_name("SIGTERM"), "SIGTERM");
  EXPECT_EQ(signal_name("KILL"), "");
  EXPECT_EQ(signal_name("9"), "");
  EXPECT_EQ(signal_number("SIGUSR2"), SIGUSR2);
}

TEST(JobText, Names) {
  EXPECT_TRUE(is_plain_name("a.b_c-1"));
  for (const char* const text : {"", "-a", ".a", "a b", "a/b", "ä"}) {
    EXPECT_FALSE(is_plain_name(text)) << text;
  }
  EXPECT_FALSE(is_plain_name(std::string(101, 'a')));
  EXPECT_TRUE(is_uuid("123e4567-e89b-12d3-a456-426614174000"));
  EXPECT_FALSE(is_uuid("123e4567-e89b-12d3-a456-42661417400g"));
  EXPECT_TRUE(is_variable_name("_A1"));
  EXPECT_FALSE(is_variable_name("1A"));
}

}  // namespace
}  // namespace weft::live
