#include "model/readers/philly_reader.h"

#include <algorithm>
#include <set>

#include "model/readers/reader_testing.h"

namespace weft {
namespace {

TEST(Philly, ReadsNumberedRows) {
  const std::string text = fixture_text("traces/philly_numbered.csv");
  const Result<Trace> trace = parse_philly({"p", text});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  ASSERT_EQ(trace->jobs.size(), 4U);
  EXPECT_EQ(trace->tenants, (std::vector<std::string>{"red", "blue", "green"}));
  const TraceJob& job = trace->jobs[2];
  EXPECT_EQ(job.submission->name, "c");
  EXPECT_EQ(job.submission->submit, 10);
  EXPECT_EQ(job.submission->tenant, 0);
  EXPECT_EQ(job.submission->requested().devices, 16U);
  EXPECT_EQ(job.submission->requested().type, kAnyType);
  EXPECT_EQ(job.truth.work, 120.5);
  EXPECT_EQ(job.submission->declared_work, 0)
      << "the duration must not leak into what is submitted";
  EXPECT_FALSE(job.submission->estimate.known());
  EXPECT_EQ(trace->jobs[0].submission->menu, trace->jobs[3].submission->menu) << "shared";
}

TEST(Philly, SkipsCommentsBeforeTheHeaderAndBetweenRows) {
  const std::string text =
      "# from, where\n#, and why\njob_id,submit_s,num_gpus,duration_s,vc\na,0,1,5,v\n#b,0,1,5,v\n";
  const Result<Trace> trace = parse_philly({"p", text});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->jobs.size(), 1U);
}

TEST(Philly, SortsDatedRowsByTimeDurationAndSize) {
  const std::string text = fixture_text("traces/philly_dated.csv");
  const Result<Trace> trace = parse_philly({"p", text});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  std::string names;
  for (const TraceJob& job : trace->jobs) names += job.submission->name + " ";
  EXPECT_EQ(names, "1 3 2 0 ");
  EXPECT_EQ(trace->jobs[0].submission->submit, 0);
  EXPECT_EQ(trace->jobs[1].submission->submit, 90) << "across the end of a month";
  EXPECT_EQ(trace->tenants[trace->jobs[0].submission->tenant], "blue");
}

TEST(Philly, Timestamps) {
  EXPECT_EQ(parse_timestamp("1970-01-02 00:00:01"), 86401);
  EXPECT_EQ(parse_timestamp("2020-02-29T12:00:00"), 1582977600);
  for (const char* const text :
       {"2021-02-29 00:00:00", "2021-13-01 00:00:00", "2021-01-01 24:00:00", "2021-01-01 00:60:00",
        "2021-01-01", "2021-01-01 00:00:0x", ""}) {
    EXPECT_FALSE(parse_timestamp(text).has_value()) << text;
  }
}

TEST(Philly, ComplainsWithLineValueAndLimit) {
  const std::string header = "job_id,submit_s,num_gpus,duration_s,vc\n";
  const BadText bads[] = {
      {"negative duration", header + "a,0,1,-5,v\n",
       "p:2: duration_s is '-5'; it must be a number above 0 and at most 1e+10"},
      {"zero duration", header + "a,0,1,0,v\n", "p:2: duration_s is '0'"},
      {"not a number", header + "a,0,1,nan,v\n", "p:2: duration_s is 'nan'"},
      {"infinite", header + "a,inf,1,1,v\n", "p:2: submit_s is 'inf'"},
      {"overflow", header + "a,0,99999999999999999999,1,v\n", "p:2: num_gpus is '9999"},
      {"no devices", header + "a,0,0,1,v\n", "must be a whole number from 1 to 1000000"},
      {"half a device", header + "a,0,0.5,1,v\n", "p:2: num_gpus is '0.5'"},
      {"submitted before the start", header + "a,-1,1,1,v\n", "p:2: submit_s is '-1'"},
      {"cut off", header + "a,0,1,5,v\nb,1", "p:3: the row has 2 columns; 5 are needed"},
      {"a name twice", header + "a,0,1,5,v\nb,0,1,5,v\na,0,1,5,v\n",
       "p:4: name 'a' is already used on line 2"},
      {"no rows", header, "p: holds no jobs"},
      {"no such day", "timestamp,duration,num_gpus,gpu_time,cluster\n2021-02-30 00:00:00,1,1,1,v\n",
       "p:2: timestamp is '2021-02-30 00:00:00'; it must be a date"},
      {"a column is missing", "job_id,submit_s,num_gpus,duration_s\n",
       "p:1: column 'vc' is missing"},
  };
  for (const BadText& bad : bads) expect_complaint(bad, parse_philly({"p", bad.text}));
}

TEST(Philly, ReadsThePublishedTrace) {
  const std::string path = shared_data("philly-full-82247.csv");
  SKIP_WITHOUT(path);
  const Result<Trace> trace = read_trace(path, cluster_of("64x8"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  ASSERT_EQ(trace->jobs.size(), 82247U);
  EXPECT_EQ(trace->tenants.size(), 15U);
  std::set<const Menu*> menus;
  for (const TraceJob& job : trace->jobs) menus.insert(job.submission->menu.get());
  EXPECT_EQ(menus.size(), 10U);
}

// The windows of the published trace were cut from it by the sort order the reader uses.
TEST(Philly, BothFormsAgree) {
  const std::string full_path = shared_data("philly-full-82247.csv");
  const std::string window_path = shared_data("philly-1000.csv");
  SKIP_WITHOUT(full_path);
  SKIP_WITHOUT(window_path);
  const Result<Trace> full = read_trace(full_path, cluster_of("64x8"), {});
  const Result<Trace> window = read_trace(window_path, cluster_of("16x8"), {});
  ASSERT_TRUE(full.ok() && window.ok());
  const Seconds from = static_cast<double>(*parse_timestamp("2017-10-09 00:00:00"));
  Result<std::string> text = read_file(full_path, kMaxTraceBytes);
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  DelimitedScanner rows(*text);
  for (rows.next(); rows.next();) earliest = std::min(earliest, *parse_timestamp(rows.fields()[0]));
  size_t first = 0;
  while (full->jobs[first].submission->submit + static_cast<double>(earliest) < from) ++first;
  const Seconds origin = full->jobs[first].submission->submit;
  for (size_t i = 0; i < window->jobs.size(); ++i) {
    const TraceJob &a = full->jobs[first + i], &b = window->jobs[i];
    ASSERT_EQ(a.submission->submit - origin, b.submission->submit) << i;
    ASSERT_EQ(a.truth.work, b.truth.work) << i;
    ASSERT_EQ(a.submission->requested().devices, b.submission->requested().devices) << i;
  }
}

}  // namespace
}  // namespace weft
