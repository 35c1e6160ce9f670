#include "model/readers/trace_builder.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

Submission named(const std::string& name, Seconds submit) {
  Submission submission;
  submission.name = name;
  submission.submit = submit;
  return submission;
}

TEST(MenuPool, EqualMenusAreOneObject) {
  MenuPool pool;
  Configuration one, two;
  two.devices = 2;
  EXPECT_EQ(pool.share(one), pool.share(one));
  EXPECT_NE(pool.share(one), pool.share(two));
  Configuration labelled;
  labelled.codec = "int8";  // not part of the hash
  EXPECT_NE(pool.share(one), pool.share(labelled));
}

TEST(TraceBuilder, SortsBySubmissionAndKeepsTheOrderOfTies) {
  TraceBuilder builder("f", "test");
  for (const auto& [name, submit] : {std::pair{"a", 5.0}, {"b", 1.0}, {"c", 5.0}, {"d", 1.0}}) {
    builder.add(1, named(name, submit), {});
  }
  Result<Trace> trace = builder.finish();
  ASSERT_TRUE(trace.ok());
  std::string order;
  for (const TraceJob& job : trace->jobs) order += job.submission->name;
  EXPECT_EQ(order, "bdac");
}

TEST(TraceBuilder, ANameUsedTwiceNamesBothLines) {
  TraceBuilder builder("f", "test");
  builder.add(3, named("a", 0), {});
  builder.add(9, named("a", 0), {});
  builder.add(11, named("", 0), {});
  EXPECT_EQ(builder.finish().error().what,
            "f:9: name 'a' is already used on line 3; names must be unique\n"
            "f:11: the job has no name; a name is needed");
}

TEST(TraceBuilder, TenantsAreNumberedInOrderOfAppearance) {
  TraceBuilder builder("f", "test");
  EXPECT_EQ(builder.tenant("red", 1), 0);
  EXPECT_EQ(builder.tenant("", 1), 1);
  EXPECT_EQ(builder.tenant("red", 1), 0);
  EXPECT_EQ(builder.tenant("default", 1), 1);
  builder.add(1, named("a", 0), {});
  EXPECT_EQ(builder.finish()->tenants, (std::vector<std::string>{"red", "default"}));
}

TEST(TraceBuilder, TooManyTenantsAreRefused) {
  TraceBuilder builder("f", "test");
  for (int i = 0; i < 65535; ++i) builder.tenant(std::to_string(i), 1);
  EXPECT_TRUE(builder.complaints().empty());
  builder.tenant("last", 7);
  EXPECT_EQ(builder.finish().error().what,
            "f:7: tenant 'last' is one more than the limit of 65535");
}

TEST(TraceBuilder, ATraceWithoutJobsIsRefused) {
  TraceBuilder builder("f", "test");
  builder.skip_row();
  EXPECT_EQ(builder.finish().error().what, "f: holds no jobs (1 rows were passed over)");
}

}  // namespace
}  // namespace weft
