#include "live/agent/progress_lines.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace weft::live {
namespace {

using Values = std::map<std::string, double>;

TEST(ProgressLines, ReadsWordsAndObjectsAndKeepsTheLast) {
  const struct {
    const char* why;
    std::string lines;
    Values want;
    long malformed;
  } kRows[] = {
      {"words", "step=10 loss=0.5", {{"step", 10}, {"loss", 0.5}}, 0},
      {"an object", R"({"step": 10, "loss": 0.5})", {{"step", 10}, {"loss", 0.5}}, 0},
      {"later values win", "step=1\nstep=2 rate=3\n", {{"step", 2}, {"rate", 3}}, 0},
      {"a carriage return and empty lines are nothing", "\n\nstep=1\r\n", {{"step", 1}}, 0},
      {"a word without a number", "step=ten", {}, 1},
      {"a wrong line spoils no other", "step=1\nhello\nloss=2", {{"step", 1}, {"loss", 2}}, 1},
      {"not finite", "loss=nan\nloss=inf\nstep=4", {{"step", 4}}, 2},
      {"text for a number", R"({"step": "10"})", {}, 1},
      {"a list", "[1, 2]", {}, 1},
      {"a name that could be a field of ours", "Op=1\n{\"a b\": 1}", {}, 2},
      {"half an object", R"({"step": )", {}, 1},
      {"a zero byte", std::string("step=1\0", 7), {}, 1},
      {"too long", "step=1 " + std::string(2000, ' ') + "\nstep=2", {{"step", 2}}, 1},
  };
  for (const auto& row : kRows) {
    ProgressLines lines;
    lines.feed(row.lines);
    EXPECT_EQ(lines.take(), row.want) << row.why;
    EXPECT_EQ(lines.malformed(), row.malformed) << row.why;
    EXPECT_TRUE(lines.empty());
  }
}

TEST(ProgressLines, ManyNamesAreRefused) {
  ProgressLines lines;
  for (int i = 0; i < 1000; ++i) lines.feed("name" + std::to_string(i) + "=1\n");
  EXPECT_EQ(lines.take().size(), ProgressLines::kMostValues);
  EXPECT_EQ(lines.malformed(), 1000 - static_cast<long>(ProgressLines::kMostValues));
}

TEST(ProgressLines, NoBytesHarmIt) {
  const std::uint64_t seed = 7;
  Random random(seed);
  ProgressLines lines;
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    const char* kParts[] = {"step", "=", "1e9", "{", "}", "\"", ":", "[", "\n", " ", ",", "-"};
    for (std::uint64_t part = random.below(20); part > 0; --part) {
      text += random.chance(0.8) ? std::string(kParts[random.below(std::size(kParts))])
                                 : std::string(1, static_cast<char>(random.below(256)));
    }
    lines.feed(text);
    EXPECT_LE(lines.take().size(), ProgressLines::kMostValues) << "seed " << seed << ": " << text;
  }
}

}  // namespace
}  // namespace weft::live
