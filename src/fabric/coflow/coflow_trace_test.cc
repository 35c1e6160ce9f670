#include "fabric/coflow/coflow_trace.h"

#include <gtest/gtest.h>

#include "fabric/coflow/coflow_generator.h"

namespace weft {
namespace {

TEST(CoflowTrace, ReadsTheBenchmarkFormat) {
  const auto trace = read_coflow_trace(std::string(WEFT_FIXTURES) + "/coflows/small.txt");
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->ports, 4u);
  ASSERT_EQ(trace->coflows.size(), 6u);
  const Coflow& third = trace->coflows[2];
  EXPECT_EQ(third.name, "third");
  EXPECT_DOUBLE_EQ(third.arrival, 0.1);
  EXPECT_EQ(third.sources, (std::vector<PortId>{0, 1, 2}));
  EXPECT_DOUBLE_EQ(third.bytes[0], 32 * kMiB);
  EXPECT_DOUBLE_EQ(isolated_time(third, kMiB), 96);
}

struct BadTrace {
  const char* why;
  std::string text;
  std::string says;
};

TEST(CoflowTrace, BadInputIsNamed) {
  const std::vector<BadTrace> table = {
      {"empty", "", "0 coflows"},
      {"no numbers", "ports coflows\n", "test:1: the number of ports is 'ports'"},
      {"a port that is not there", "4 1\na 0 1 4 1 0:1\n", "test:2: a source's port is '4'"},
      {"a line cut short", "4 1\na 0 2 1\n", "the line ends where"},
      {"a negative size", "4 1\na 0 1 1 1 0:-1\n", "a target's MiB is '-1'"},
      {"not a number", "4 1\na nan 1 1 1 0:1\n", "the arrival in ms is 'nan'"},
      {"nothing to move", "4 1\na 0 1 1 1 0:0\n", "moves nothing"},
      {"too few coflows", "4 2\na 0 1 1 1 0:1\n", "1 coflows where the first line says 2"},
      {"too many coflows", "4 1\na 0 1 1 1 0:1\nb 0 1 1 1 0:1\n", "more coflows than"},
      {"words after the end", "4 1\na 0 1 1 1 0:1 2:3\n", "'2:3' stands after"},
      {"too many ports", "99999 1\na 0 1 1 1 0:1\n", "must be a number from 1 to 4096"},
      {"no text", std::string("4 1\n\x00", 5), "test:2"},
  };
  for (const BadTrace& row : table) {
    SCOPED_TRACE(row.why);
    const auto trace = parse_coflow_trace("test", row.text);
    ASSERT_FALSE(trace.ok());
    EXPECT_NE(trace.error().what.find(row.says), std::string::npos) << trace.error().what;
  }
}

TEST(CoflowGenerator, GivesTheLoadAskedFor) {
  const auto spec = parse_coflow_generator("gen:ports=20,coflows=300,load=0.6,seed=4");
  ASSERT_TRUE(spec.ok());
  const CoflowTrace trace = generate_coflows(*spec, kMiB);
  double bytes = 0;
  for (const Coflow& coflow : trace.coflows) {
    for (double b : coflow.bytes) bytes += b;
  }
  const double load = bytes / (trace.coflows.back().arrival * 20 * kMiB);
  EXPECT_NEAR(load, 0.6, 0.02);
}

TEST(CoflowGenerator, MistakesAreNamedTogether) {
  const auto spec = parse_coflow_generator("gen:prots=20,load=-1,coflows=2.5");
  ASSERT_FALSE(spec.ok());
  for (const char* part : {"'prots'", "load", "whole number"}) {
    EXPECT_NE(spec.error().what.find(part), std::string::npos) << spec.error().what;
  }
}

}  // namespace
}  // namespace weft
