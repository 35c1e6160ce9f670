// `weft bench codec` as its users meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <vector>

#include "tests/cross_testing.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(BenchCodec, JsonHasThePromisedKeys) {
  const Scratch scratch;
  const CommandResult result =
      run_weft(scratch,
               "bench codec --codec int8 topk:rate=0.01+int8 powersgd randomk --size 400KB "
               "--rounds 2 --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_EQ(json.at("bytes"), 400000);
  EXPECT_GT(json.at("memcpy_gb_s").get<double>(), 0.01);
  ASSERT_EQ(json.at("rows").size(), 4u);
  EXPECT_EQ(json.at("rows")[0].at("codec"), "int8:block=256,ef=1,round=nearest");
  const std::vector<std::pair<double, double>> ratios = {{3.9, 4}, {100, 140}, {35, 45}, {99, 101}};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& row = json.at("rows")[i];
    EXPECT_GT(row.at("compress_gb_s").get<double>(), 0);
    EXPECT_GT(row.at("decompress_gb_s").get<double>(), 0);
    EXPECT_GT(row.at("roundtrip_of_memcpy").get<double>(), 0);
    EXPECT_GE(row.at("ratio").get<double>(), ratios[i].first);
    EXPECT_LE(row.at("ratio").get<double>(), ratios[i].second);
    EXPECT_TRUE(row.at("error_feedback").get<bool>());
    EXPECT_EQ(row.at("residual_bytes"), std::vector({2, 4, 4, 4})[i]);
  }
  EXPECT_DOUBLE_EQ(json.at("rows")[2].at("grace_roundtrip_gb_s").get<double>(), 0.585);
  EXPECT_FALSE(json.at("rows")[0].contains("grace_roundtrip_gb_s"));
}

TEST(BenchCodec, EveryCodecRuns) {
  const Scratch scratch;
  const CommandResult result = run_weft(scratch, "bench codec --codec all --size 40KB --rounds 1");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("40.0 KB of float32, one thread, best of 1 rounds; memcpy"));
  const CommandResult list = run_weft(scratch, "bench codec --list");
  ASSERT_EQ(list.code, 0) << list.err;
  for (const char* name : {"none", "int8", "dgc", "onebit-adam", "powersgd", "thc"}) {
    EXPECT_THAT(result.out, HasSubstr(std::string("\n") + name));
    EXPECT_THAT(list.out, HasSubstr(std::string("\n") + name));
  }
}

TEST(BenchCodec, BadInputIsNamed) {
  const Scratch scratch;
  struct Row {
    const char* why;
    const char* words;
    std::vector<std::string> says;
  };
  for (const Row& row : std::vector<Row>{
           {"no such codec", "--codec intt8", {"unknown codec 'intt8'", "did you mean 'int8'"}},
           {"a parameter out of range", "--codec topk:rate=2", {"rate is 2", "1e-06 to 1"}},
           {"no size", "--size many", {"--size is 'many'", "hint"}},
           {"a size too small", "--size 2", {"--size is '2'", "from 4"}},
           {"no round", "--rounds 0", {"--rounds"}}}) {
    SCOPED_TRACE(row.why);
    const CommandResult result = run_weft(scratch, std::string("bench codec ") + row.words);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    for (const std::string& part : row.says) EXPECT_THAT(result.err, HasSubstr(part));
  }
}

}  // namespace
}  // namespace weft
