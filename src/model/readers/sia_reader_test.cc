#include "model/readers/sia_reader.h"

#include "model/readers/reader_testing.h"

namespace weft {
namespace {

TraceOptions tiny() {
  TraceOptions options;
  options.profiles = fixture("sia");
  return options;
}

Result<Trace> parse(const std::string& rows, const std::string& cluster = "fast:2x4,slow:1x2") {
  return read_sia({"w", "name,time,application,num_replicas,batch_size\n" + rows},
                  cluster_of(cluster), tiny());
}

TEST(Sia, TruthIsApartFromWhatIsSubmitted) {
  const Result<Trace> trace =
      read_trace(fixture("sia/workload-tiny.csv"), cluster_of("fast:2x4,slow:1x2"), tiny());
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->format, "sia");
  ASSERT_EQ(trace->jobs.size(), 3U);
  const TraceJob& first = trace->jobs[0];
  EXPECT_TRUE(first.submission->elastic);
  EXPECT_EQ(first.submission->declared_work, 0);
  ASSERT_NE(first.truth.goodput, nullptr);
  EXPECT_EQ(first.truth.work, 300);  // the third epoch ends there
  EXPECT_EQ(first.truth.goodput, trace->jobs[2].truth.goodput);
}

// Alone on a fast device a step of the initial batch takes 0.18 s, on a slow one 0.45 s, and is
// worth one useful step in every epoch.
TEST(Sia, MenusBeginWithWhatWasAskedForOnEachType) {
  const Result<Trace> trace = parse("a,0,tiny,1,16\n");
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  const std::vector<Configuration>& menu = trace->jobs[0].submission->menu->configurations;
  ASSERT_GE(menu.size(), 3U);
  EXPECT_EQ(menu[0].type, 0);
  EXPECT_EQ(menu[0].batch, 16U);
  EXPECT_NEAR(menu[0].rate, 1 / 0.18, 1e-9);
  EXPECT_NEAR(menu[0].seconds_per_step, 0.18, 1e-12);
  EXPECT_EQ(menu[1].type, 1);
  EXPECT_NEAR(menu[1].rate, 1 / 0.45, 1e-9);
  // Then gangs with a batch of their own: 1, 2, 3, 4 and 8 fast devices, 1 and 2 slow ones.
  std::vector<std::pair<int, unsigned>> gangs;
  for (size_t i = 2; i < menu.size(); ++i) {
    EXPECT_EQ(menu[i].batch, 0U);
    gangs.emplace_back(menu[i].type, menu[i].devices);
  }
  const std::vector<std::pair<int, unsigned>> wanted = {{0, 1}, {0, 2}, {0, 3}, {0, 4},
                                                        {0, 8}, {1, 1}, {1, 2}};
  EXPECT_EQ(gangs, wanted);
}

TEST(Sia, JobsAreDealtToTheTypesInProportionToTheirDevices) {
  std::string rows;
  for (int i = 0; i < 10; ++i) rows += "j" + std::to_string(i) + ",0,tiny,1,16\n";
  const Result<Trace> trace = parse(rows);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  int fast = 0;
  for (const TraceJob& job : trace->jobs) fast += job.submission->requested().type == 0;
  EXPECT_EQ(fast, 8) << "8 of 10 devices are fast";
}

TEST(Sia, NamesOfMachinesMayBeThoseOfTheirDevices) {
  const std::string path = shared_data("sia-artifact/workloads/philly/workload-1.csv");
  SKIP_WITHOUT(path);
  const Result<Trace> trace = read_trace(path, cluster_of("T4:6x4,a100:2x8,rtx:3x8"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->jobs.size(), 160U);
  EXPECT_EQ(trace->jobs[0].truth.goodput->on_types[1].type, "a100");
  for (const TraceJob& job : trace->jobs) {
    EXPECT_GT(job.truth.work, 0);
    EXPECT_GT(job.submission->requested().rate, 0);
  }
}

TEST(Sia, ComplainsWithLineValueAndLimit) {
  const BadText bads[] = {
      {"no such application", "a,0,huge,1,16\n", "w:2: application is 'huge'; it must be one of"},
      {"a way out of the folder", "a,0,../sia/tiny,1,16\n", "w:2: application is '../sia/tiny'"},
      {"negative time", "a,-1,tiny,1,16\n", "w:2: time is '-1'"},
      {"no replicas", "a,0,tiny,0,16\n", "w:2: num_replicas is '0'"},
      {"not a number", "a,0,tiny,1,nan\n", "w:2: batch_size is 'nan'"},
      {"too many replicas", "a,0,tiny,9,64\n", "9 replicas of tiny"},
      {"used twice", "a,0,tiny,1,16\na,5,tiny,1,16\n", "w:3: name 'a' is already used"},
      {"cut off", "a,0,tiny\n", "w:2: the row has 3 columns"},
      {"a broken profile", "a,0,broken,1,16\n", "broken/"},
      {"nothing", "", "holds no jobs"},
  };
  for (const BadText& bad : bads) expect_complaint(bad, parse(bad.text));
}

TEST(Sia, TypesThatNobodyMeasuredAreNamed) {
  const Result<Trace> trace = parse("a,0,tiny,1,16\n", "v100:1x4");
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.error().what.find("device type 'v100'"), std::string::npos) << trace.error().what;
  EXPECT_NE(trace.error().what.find("fast, slow"), std::string::npos);
}

TEST(Sia, AMissingFolderOfProfilesIsNamed) {
  const Result<Trace> trace = read_sia(
      {"/nowhere/w.csv", "name,time,application,num_replicas,batch_size\n"}, cluster_of("1x1"), {});
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.error().what.find("/nowhere/../../traces"), std::string::npos);
}

}  // namespace
}  // namespace weft
