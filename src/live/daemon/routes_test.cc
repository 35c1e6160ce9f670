#include "live/daemon/routes.h"

#include <gtest/gtest.h>

#include <set>

namespace weft::live {
namespace {

TEST(Routes, EveryRowIsReachedByItsOwnPattern) {
  std::set<std::string> seen;
  for (const Route& route : routes()) {
    SCOPED_TRACE(std::string(route.method) + " " + route.pattern);
    EXPECT_TRUE(seen.insert(std::string(route.method) + route.pattern).second) << "twice";
    const auto target = parse_target(route.pattern);
    ASSERT_TRUE(target.has_value());
    const auto first = std::find_if(routes().begin(), routes().end(), [&](const Route& r) {
      return std::string(r.method) == route.method && fits(r.pattern, target->words);
    });
    EXPECT_EQ(&*first, &route) << "a row above it takes its requests";
    const std::string pattern = route.pattern;
    EXPECT_TRUE(route.need != Need::kOwner || pattern.find("{job}") != std::string::npos);
  }
}

TEST(Routes, TargetsAreTakenApart) {
  struct Case {
    const char* target;
    bool well;
    std::vector<std::string> words;
    std::map<std::string, std::string> query;
  };
  const Case cases[] = {
      {"/", true, {""}, {}},
      {"/v1/jobs", true, {"v1", "jobs"}, {}},
      {"/v1/jobs/", true, {"v1", "jobs", ""}, {}},
      {"/v1/a%20b%2Fc?x=%31&y", true, {"v1", "a b/c"}, {{"x", "1"}, {"y", ""}}},
      {"/?", true, {""}, {}},
      {"", false, {}, {}},
      {"v1/jobs", false, {}, {}},
      {"/%", false, {}, {}},
      {"/%4", false, {}, {}},
      {"/%4g", false, {}, {}},
      {"/a%00b", false, {}, {}},
      {"/?a=1&a=2", false, {}, {}},
      {"/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", false, {}, {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.target);
    const auto target = parse_target(c.target);
    ASSERT_EQ(target.has_value(), c.well);
    if (!target) continue;
    EXPECT_EQ(target->words, c.words);
    EXPECT_EQ(target->query, c.query);
  }
}

TEST(Routes, PatternsFitWordForWord) {
  EXPECT_TRUE(fits("/v1/jobs/{job}", {"v1", "jobs", "x"}));
  EXPECT_FALSE(fits("/v1/jobs/{job}", {"v1", "jobs", ""}));
  EXPECT_FALSE(fits("/v1/jobs/{job}", {"v1", "jobs"}));
  EXPECT_FALSE(fits("/v1/jobs/{job}", {"v1", "jobs", "x", "y"}));
  EXPECT_FALSE(fits("/v1/jobs", {"v2", "jobs"}));
}

}  // namespace
}  // namespace weft::live
