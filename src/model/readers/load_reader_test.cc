#include "model/readers/load_reader.h"

#include "model/readers/reader_testing.h"

namespace weft {
namespace {

TEST(Load, ComplainsWithLineValueAndLimit) {
  const std::string header = "at_s,requests_per_s\n";
  const BadText bads[] = {
      {"times that fall", header + "0,1\n5,2\n5,3\n", "l:4: at_s is '5'; it must be above 5"},
      {"negative load", header + "0,-1\n",
       "l:2: requests_per_s is '-1'; it must be a number from 0"},
      {"no rows", header, "l:1: holds no load"},
      {"other columns", "t,load\n0,1\n", "l:1: column 'at_s' is missing"},
  };
  for (const BadText& bad : bads) expect_complaint(bad, parse_load({"l", bad.text}));
}

TEST(Load, IsLookedForBesideTheTrace) {
  const Result<std::vector<LoadStep>> load = read_load(fixture("traces/any.csv"), "load.csv");
  ASSERT_TRUE(load.ok()) << load.error().text();
  EXPECT_EQ(load->size(), 3U);
}

}  // namespace
}  // namespace weft
