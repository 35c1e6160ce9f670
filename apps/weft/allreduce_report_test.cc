#include "allreduce_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench_allreduce.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kSmall = 4096, kLarge = std::uint64_t{64} << 20;

AllReduceRow report_row(const char* library, std::uint64_t size, double median_s) {
  return {
      library, library == std::string("b") ? "ring" : "", size, median_s, median_s / 2, 0.5, 0, 3,
      9};
}

// Library a is twice as fast at the small size, and 1.5 times as slow at the large one.
AllReduceReport report() {
  AllReduceReport made;
  made.ranks = 4;
  made.rounds = 3;
  made.libraries = {"a", "b"};
  made.sizes_bytes = {kSmall, kLarge};
  made.rows = {report_row("a", kSmall, 1e-5), report_row("b", kSmall, 2e-5),
               report_row("a", kLarge, 0.3), report_row("b", kLarge, 0.2)};
  made.memory = {2, 5e9, 10e9};
  made.steal = 0.25;
  made.load_before = 1.5;
  return made;
}

TEST(AllReduceReport, TextHasEveryRowAndTheVerdictLast) {
  const std::string text = report_text(report());
  EXPECT_THAT(text, HasSubstr("4 ranks on one host, 3 rounds"));
  // The floor of 64 MB: 4 ranks x 67.1 MB at 10 GB/s = 26.8 ms.
  EXPECT_THAT(text, testing::ContainsRegex("64 MB +a +- +300000 +150000 +0.500 +0 +1.50x +11.2"));
  EXPECT_THAT(text,
              testing::ContainsRegex("64 MB +b +ring +200000 +100000 +0.500 +0 +1.00x +7.45"));
  EXPECT_THAT(text, testing::ContainsRegex("4 KB +b +ring +20.0 +10.0 +0.500 +0 +2.00x +-"));
  EXPECT_THAT(text, HasSubstr("steal 25.0 %"));
  EXPECT_THAT(text, HasSubstr("load average 1.50 before and unknown after"));
  EXPECT_TRUE(text.ends_with(
      "speed of a against the best of the others: 4 KB 2.00x b, 64 MB 0.667x b; no wrong sum\n"))
      << text;
  EXPECT_TRUE(report().all_well());
}

TEST(AllReduceReport, BetweenHostsTheIdealIsThatOfTheLinks) {
  AllReduceReport shaped = report();
  shaped.arena = "tag";
  shaped.link_bytes_per_s = 1e9;  // 1.5 x 67.1 MB / 1 GB/s = 0.1007 s
  EXPECT_DOUBLE_EQ(shaped.ideal_s(kLarge), 1.5 * 67108864 / 1e9);
  EXPECT_THAT(report_text(shaped), testing::ContainsRegex("64 MB +b .* 1.00x +- +- +50.3\n"));
  EXPECT_THAT(report_text(shaped), Not(HasSubstr("floor:")));
}

TEST(AllReduceReport, WhatIsMissingOrWrongIsSaid) {
  AllReduceReport missing = report();
  missing.rows.erase(missing.rows.begin());
  missing.failures.push_back({"a", "", kSmall, 1, "it did not end within 60 s"});
  EXPECT_FALSE(missing.all_well());
  EXPECT_THAT(report_text(missing),
              HasSubstr("failed: a at 4 KB, round 2: it did not end within 60 s"));
  EXPECT_THAT(missing.verdict(), HasSubstr("4 KB no result"));
  EXPECT_THAT(missing.verdict(), HasSubstr("1 groups failed"));

  AllReduceReport wrong = report();
  wrong.rows[3].wrong = 12;
  EXPECT_FALSE(wrong.all_well());
  EXPECT_THAT(wrong.verdict(), HasSubstr("12 WRONG SUMS"));

  AllReduceReport alone = report();
  alone.libraries = {"b"};
  alone.rows = {report_row("b", kSmall, 1), report_row("b", kLarge, 1)};
  EXPECT_EQ(alone.verdict(), "b alone; no wrong sum");
}

TEST(AllReduceReport, JsonHasThePromisedKeys) {
  const auto json = nlohmann::json::parse(report_json(report()));
  EXPECT_EQ(json.at("schema"), 1);
  ASSERT_EQ(json.at("rows").size(), 4u);
  const auto& last = json.at("rows")[3];
  EXPECT_EQ(last.at("library"), "b");
  EXPECT_EQ(last.at("algorithm"), "ring");
  EXPECT_EQ(last.at("size_bytes"), kLarge);
  EXPECT_EQ(last.at("median_s"), 0.2);
  EXPECT_EQ(last.at("min_s"), 0.1);
  EXPECT_EQ(last.at("cpu_s_per_gb"), 0.5);
  EXPECT_EQ(last.at("wrong"), 0);
  EXPECT_NEAR(last.at("times_floor").get<double>(), 7.45, 0.01);
  EXPECT_FALSE(json.at("rows")[0].contains("times_floor"));
  EXPECT_EQ(json.at("steal_share"), 0.25);
  EXPECT_TRUE(json.at("load_average").at("after").is_null());
  EXPECT_EQ(json.at("verdict"), report().verdict());
}

TEST(MessageSize, IsReadInPowersOf1024) {
  struct Row {
    const char* text;
    std::uint64_t want;  // 0: refused
  };
  for (const Row& row : {Row{"4KB", 4096},
                         {"4KiB", 4096},
                         {"4096", 4096},
                         {"4096B", 4096},
                         {"0.5MB", 524288},
                         {"256MB", 268435456},
                         {"4GB", 4294967296},
                         {"4.1GB", 0},
                         {"0", 0},
                         {"6", 0},
                         {"4.5", 0},
                         {"-4KB", 0},
                         {"4Kb", 0},
                         {"KB", 0},
                         {"", 0},
                         {"much", 0}}) {
    SCOPED_TRACE(row.text);
    const auto size = parse_message_size(row.text);
    EXPECT_EQ(size.ok() ? *size : 0, row.want);
  }
  EXPECT_EQ(message_size_text(4096), "4 KB");
  EXPECT_EQ(message_size_text(268435456), "256 MB");
  EXPECT_EQ(message_size_text(100), "100 B");
}

TEST(MachineState, StealIsAShareOfTheTimeThatPassed) {
  const auto before = parse_processor_ticks("cpu  100 0 50 800 10 0 0 40 7 0");
  const auto after = parse_processor_ticks("cpu  150 0 60 830 10 0 0 50 9 0");
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->total, 1000u);
  EXPECT_EQ(before->steal, 40u);
  EXPECT_DOUBLE_EQ(steal_share(*before, *after), 0.1);
  EXPECT_EQ(steal_share(*after, *before), 0);
  EXPECT_FALSE(parse_processor_ticks(""));
  EXPECT_FALSE(parse_processor_ticks("cpu 1 2 3"));
  EXPECT_FALSE(parse_processor_ticks("intr 1 2 3 4 5 6 7 8"));
}

}  // namespace
}  // namespace weft
