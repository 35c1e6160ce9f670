// `weft bench allreduce` as its users meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/child.h"
#include "tests/cross_testing.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(BenchAllReduce, BadInputIsNamed) {
  const Scratch scratch;
  struct Row {
    const char* why;
    const char* words;
    std::vector<std::string> says;
  };
  for (const Row& row : std::vector<Row>{
           {"sizes that are none, all of them",
            "--sizes 4KB,many,6",
            {"--sizes has 'many'", "--sizes has '6'", "multiple of 4 bytes", "hint", "1024"}},
           {"a size twice", "--sizes 4KB,4096", {"--sizes names 4096 twice"}},
           {"one rank", "--ranks 1", {"--ranks", "from 2 to 64"}},
           {"no round", "--rounds 0", {"--rounds"}},
           {"a library nobody knows", "--against glo", {"'glo'", "did you mean 'gloo'", "mpich"}},
           {"a link without a unit", "--link 25", {"--link is 25", "12.5GB/s"}},
           {"a launcher's library on several hosts",
            "--against mpich --hosts-in none",
            {"mpich is measured on one host only", "hint"}}}) {
    SCOPED_TRACE(row.why);
    const CommandResult result = run_weft(scratch, std::string("bench allreduce ") + row.words);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    for (const std::string& part : row.says) EXPECT_THAT(result.err, HasSubstr(part));
  }
}

// The program alone in a folder finds no peer beside it.
TEST(BenchAllReduce, AMissingLibraryIsNamedWithItsPackage) {
  const Scratch scratch;
  std::filesystem::copy_file(WEFT_BINARY, scratch.path("weft"));
  const std::string err = scratch.path("err.txt");
  for (const auto& [library, package] : {std::pair{"gloo", "libgloo-dev"},
                                         {"openmpi", "libopenmpi-dev"},
                                         {"mpich", "libmpich-dev"}}) {
    SCOPED_TRACE(library);
    const auto end = run_child(
        {"/bin/sh", "-c",
         scratch.path("weft") + " bench allreduce --sizes 4KB --against " + library + " 2>" + err},
        60);
    ASSERT_TRUE(end.ok());
    EXPECT_EQ(end->code, 2);
    EXPECT_THAT(slurp(err), HasSubstr(std::string(library) + " cannot be measured"));
    EXPECT_THAT(slurp(err), HasSubstr(std::string("install ") + package));
  }
}

TEST(BenchAllReduce, MeasuresTwoRanksOfEachLibraryThatIsHere) {
  const Scratch scratch;
  const auto folder = std::filesystem::path(WEFT_BINARY).parent_path();
  int found = 0;
  for (const std::string library : {"gloo", "openmpi", "mpich"}) {
    if (!std::filesystem::exists(folder / ("peer_" + library))) continue;
    SCOPED_TRACE(library);
    ++found;
    const CommandResult result = run_weft(
        scratch,
        "bench allreduce --ranks 2 --sizes 4KB,16MB --rounds 1 --json --against " + library);
    ASSERT_EQ(result.code, 0) << result.out << result.err;
    const auto json = nlohmann::json::parse(result.out);
    ASSERT_EQ(json.at("rows").size(), 4u);  // ours is always beside it
    for (std::size_t i = 0; i < 4; ++i) {
      const auto& row = json.at("rows")[i];
      EXPECT_EQ(row.at("library"), i % 2 == 0 ? "weft" : library);
      EXPECT_EQ(row.at("size_bytes"), i < 2 ? 4096 : 16 << 20);
      EXPECT_EQ(row.at("wrong"), 0);
      EXPECT_GT(row.at("median_s").get<double>(), 0);
      EXPECT_GE(row.at("median_s").get<double>(), row.at("min_s").get<double>());
      EXPECT_GT(row.at("cpu_s_per_gb").get<double>(), 0);
      EXPECT_GE(row.at("iterations").get<int>(), 3);
      EXPECT_EQ(row.contains("predicted_s"), i % 2 == 0);
    }
    EXPECT_GT(json.at("rows")[2].at("times_floor").get<double>(), 0);
    const auto verdict = json.at("verdict").get<std::string>();
    EXPECT_THAT(verdict, HasSubstr("no wrong sum"));
    EXPECT_THAT(verdict, HasSubstr("speed of weft against the best of the others: 4 KB"));
  }
  if (found == 0) GTEST_SKIP() << "none of libgloo-dev, libopenmpi-dev, libmpich-dev was here";
}

TEST(BenchAllReduce, NamingOursChangesNothing) {
  const Scratch scratch;
  const CommandResult alone =
      run_weft(scratch, "bench allreduce --sizes 4KB --rounds 1 --json --against weft");
  ASSERT_EQ(alone.code, 0) << alone.err;
  const auto json = nlohmann::json::parse(alone.out);
  ASSERT_EQ(json.at("rows").size(), 1u);
  EXPECT_EQ(json.at("rows")[0].at("library"), "weft");
  EXPECT_EQ(json.at("rows")[0].at("wrong"), 0);
}

TEST(BenchAllReduce, AGroupThatTakesTooLongIsEndedAndNamed) {
  const Scratch scratch;
  const auto program = std::filesystem::path(WEFT_BINARY).parent_path() / "peer_gloo";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "libgloo-dev was not here";
  const CommandResult result = run_weft(
      scratch, "bench allreduce --ranks 4 --sizes 512MB --rounds 2 --timeout 1 --against gloo");
  EXPECT_EQ(result.code, 1);
  for (const char* part :
       {"failed: gloo ring at 512 MB, round 1: it did not end within 1 s", "512 MB no result"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  EXPECT_THAT(result.out, testing::Not(HasSubstr("round 2")));  // once is enough
}

// bench/arena.sh with words of a test; its code.
int arena(const std::string& words) {
  const std::string script = fixture("../../bench/arena.sh");
  const auto end = run_child({"/bin/sh", "-c", script + " " + words + " 2>&1"}, 120);
  return end.ok() ? end->code : -1;
}

TEST(Arena, ShapesHostsForOneRunAndLeavesNothing) {
  const Scratch scratch;
  const auto program = std::filesystem::path(WEFT_BINARY).parent_path() / "peer_gloo";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "libgloo-dev was not here";
  const std::string tag = "weft-test-" + std::to_string(getpid());
  if (arena("up " + tag + " 2 100mbit") != 0) {
    GTEST_SKIP() << "this machine makes no network namespaces (root and iproute2 are needed)";
  }
  EXPECT_EQ(arena("up " + tag), 2);  // its name is taken, and it stays
  const CommandResult result = run_weft(
      scratch, "bench allreduce --ranks 2 --sizes 4MB --rounds 1 --against gloo --hosts-in " + tag +
                   " --link 11.875MB/s --json");
  EXPECT_EQ(arena("exec " + tag + " 0 sh -c 'exit 7'"), 7);
  EXPECT_EQ(arena("down " + tag), 0);
  EXPECT_NE(arena("exec " + tag + " 0 true"), 0);  // it is gone
  EXPECT_EQ(arena("down " + tag), 0);              // and to be gone is no failure
  ASSERT_EQ(result.code, 0) << result.err;
  const auto rows = nlohmann::json::parse(result.out).at("rows");
  ASSERT_EQ(rows.size(), 2u);
  for (const auto& row : rows) {
    EXPECT_EQ(row.at("wrong"), 0);
    // The wire takes 4 MB / 12.5 MB/s = 0.34 s, less the bucket; no faster means that links are
    // shaped.
    EXPECT_GT(row.at("median_s").get<double>(), 0.3) << row;
    EXPECT_LT(row.at("share_of_ideal").get<double>(), 1.15) << row;
  }
}

TEST(Arena, RefusesWhatItCannotUse) {
  for (const char* words : {"", "up", "up 'a b'", "up ../x", "up tag 1", "up tag many", "up tag 65",
                            "exec tag", "exec tag 0", "sideways tag"}) {
    EXPECT_EQ(arena(words), 2) << words;
  }
}

}  // namespace
}  // namespace weft
