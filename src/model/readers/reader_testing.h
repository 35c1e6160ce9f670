// What the tests of the readers share.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/files.h"
#include "model/cluster.h"
#include "model/trace.h"

namespace weft {

inline std::string fixture(const std::string& name) {
  return std::string(WEFT_FIXTURES) + "/" + name;
}

// A file of the published traces; the test is skipped on a machine that has none of them.
inline std::string shared_data(const std::string& name) {
  return std::string(WEFT_SHARED_DATA) + "/jobs/" + name;
}
#define SKIP_WITHOUT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << (path) << " is not here; see docs/data.md"

inline std::string fixture_text(const std::string& name) {
  Result<std::string> text = read_file(fixture(name), 1 << 20);
  EXPECT_TRUE(text.ok()) << fixture(name);
  return text.ok() ? *text : "";
}

inline Cluster cluster_of(const std::string& shorthand) {
  Result<Cluster> cluster = parse_cluster_shorthand(shorthand);
  EXPECT_TRUE(cluster.ok()) << shorthand;
  return cluster.ok() ? *cluster : Cluster();
}

// A text with a mistake, and what the complaint about it must say.
struct BadText {
  const char* why;
  std::string text;
  std::string complaint;
};

template <typename Value>
void expect_complaint(const BadText& bad, const Result<Value>& result) {
  ASSERT_FALSE(result.ok()) << bad.why;
  EXPECT_NE(result.error().what.find(bad.complaint), std::string::npos)
      << bad.why << "\nwanted: " << bad.complaint << "\ngot: " << result.error().what;
}

}  // namespace weft
