// `weft bench allreduce` as its users meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    ASSERT_EQ(json.at("rows").size(), 2u);
    for (const auto& row : json.at("rows")) {
      EXPECT_EQ(row.at("library"), library);
      EXPECT_EQ(row.at("wrong"), 0);
      EXPECT_GT(row.at("median_s").get<double>(), 0);
      EXPECT_GE(row.at("median_s").get<double>(), row.at("min_s").get<double>());
      EXPECT_GT(row.at("cpu_s_per_gb").get<double>(), 0);
      EXPECT_GE(row.at("iterations").get<int>(), 3);
    }
    EXPECT_GT(json.at("rows")[1].at("times_floor").get<double>(), 0);
    EXPECT_THAT(json.at("verdict").get<std::string>(), HasSubstr("no wrong sum"));
  }
  if (found == 0) GTEST_SKIP() << "none of libgloo-dev, libopenmpi-dev, libmpich-dev was here";
}

}  // namespace
}  // namespace weft
