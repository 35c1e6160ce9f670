#include "model/readers/weft_csv_reader.h"

#include "model/readers/reader_testing.h"

namespace weft {
namespace {

TEST(WeftCsv, ReadsEveryColumn) {
  const Result<Trace> trace =
      read_trace(fixture("traces/weft.csv"), cluster_of("slow:1x4,fast:1x8"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->format, "weft-csv");
  ASSERT_EQ(trace->jobs.size(), 3U);
  EXPECT_EQ(trace->tenants, (std::vector<std::string>{"red", "default", "blue"}));
  const Submission& train = *trace->jobs[0].submission;
  EXPECT_EQ(train.name, "train");
  EXPECT_EQ(train.priority, 5);
  EXPECT_EQ(train.deadline, 9000);
  EXPECT_EQ(train.weight, 2.5);
  EXPECT_FALSE(train.spot_ok);
  EXPECT_FALSE(train.preemptible);
  EXPECT_EQ(train.model, 0);
  EXPECT_EQ(train.requested().devices, 8U);
  EXPECT_EQ(train.requested().type, 1);
  EXPECT_EQ(train.requested().pack, Level::kRack);
  EXPECT_EQ(trace->jobs[0].truth.work, 3600);
  EXPECT_EQ(trace->jobs[0].truth.user_estimate, 4000);
  EXPECT_FALSE(train.estimate.known()) << "who believes what is not the reader's business";

  const Submission& part = *trace->jobs[1].submission;
  EXPECT_EQ(part.name, "part, small");
  EXPECT_EQ(part.kind, WorkloadKind::kTask);
  EXPECT_EQ(part.requested().milli, 250U);
  EXPECT_EQ(part.requested().device_memory, 4 * kGiB);
  EXPECT_EQ(part.requested().host_memory, 8 * kGiB);
  EXPECT_EQ(part.requested().cpu_milli, 2000U);
  EXPECT_EQ(part.deadline, kNever);
  EXPECT_EQ(part.model, kNoModel);
  EXPECT_TRUE(part.spot_ok && part.preemptible);
  EXPECT_TRUE(std::isnan(trace->jobs[1].truth.user_estimate));
}

TEST(WeftCsv, ReadsAServiceAndItsLoad) {
  const Result<Trace> trace = read_trace(fixture("traces/weft.csv"), cluster_of("fast:1x8"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  const TraceJob& front = trace->jobs[2];
  EXPECT_EQ(front.submission->kind, WorkloadKind::kService);
  EXPECT_EQ(front.submission->min_replicas, 1U);
  EXPECT_EQ(front.submission->max_replicas, 4U);
  EXPECT_EQ(front.submission->requested().rate, 25);
  EXPECT_EQ(front.truth.service_end, 7210);
  ASSERT_EQ(front.truth.load.size(), 3U);
  EXPECT_EQ(front.truth.load[1].at, 3600);
  EXPECT_EQ(front.truth.load[1].requests_per_s, 80);
}

TEST(WeftCsv, ThreeColumnsAreEnough) {
  const Result<Trace> trace = parse_weft_csv({"w", "devices,duration_s,submit_s\n2,60,5\n1,30,0\n"},
                                             cluster_of("1x8"), nullptr);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->jobs[0].submission->name, "1") << "the row from 0 is the name";
  EXPECT_EQ(trace->jobs[1].submission->requested().devices, 2U);
  EXPECT_EQ(trace->tenants, (std::vector<std::string>{"default"}));
}

TEST(WeftCsv, ModelsAreRowsOfThePairTable) {
  auto pairs = std::make_shared<PairTable>();
  pairs->models.resize(2);
  pairs->models[0].name = "resnet";
  pairs->models[1].name = "bert";
  const std::string header = "submit_s,duration_s,devices,model\n";
  const Cluster cluster = cluster_of("1x8");
  const std::string good = header + "0,1,1,bert\n0,1,1,\n";
  const Result<Trace> trace = parse_weft_csv({"w", good}, cluster, pairs);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->jobs[0].submission->model, 1);
  EXPECT_EQ(trace->jobs[1].submission->model, kNoModel);
  EXPECT_EQ(trace->pairs, pairs);
  const std::string bad = header + "0,1,1,bart\n";
  expect_complaint({"near miss", "",
                    "w:2: model 'bart' is not one of the 2 of the pair table; did "
                    "you mean 'bert'?"},
                   parse_weft_csv({"w", bad}, cluster, pairs));
}

TEST(WeftCsv, ComplainsWithLineValueAndLimit) {
  const std::string three = "submit_s,duration_s,devices\n";
  const auto with = [](const std::string& column, const std::string& value) {
    return "submit_s,duration_s,devices," + column + "\n7,1,1," + value + "\n";
  };
  const BadText bads[] = {
      {"unknown column", "submit_s,duration_s,devices,tenent\n",
       "w:1: column 'tenent' is not known; did you mean 'tenant'?"},
      {"missing column", "submit_s,devices\n", "w:1: column 'duration_s' is missing"},
      {"negative", three + "0,-1,1\n", "w:2: duration_s is '-1'"},
      {"no devices", three + "0,1,0\n", "w:2: devices is '0'"},
      {"too many", three + "0,1,1000001\n", "from 1 to 1000000"},
      {"too late", three + "1e11,1,1\n",
       "w:2: submit_s is '1e11'; it must be a number from 0 to 1e+10"},
      {"due before it is submitted", with("deadline_s", "7"),
       "w:2: deadline_s is '7'; it must be a number above 7"},
      {"unknown type", with("type", "slow"),
       "w:2: type is 'slow'; it must be one of the cluster's device types, fast"},
      {"unknown level", with("pack", "shelf"), "w:2: pack is 'shelf'"},
      {"unknown kind", with("kind", "magic"),
       "w:2: kind is 'magic'; it must be training, service or task"},
      {"too much of a device", with("milli", "2000"), "w:2: milli is '2000'"},
      {"weight zero", with("weight", "0"), "w:2: weight is '0'"},
      {"not a flag", with("spot_ok", "2"), "w:2: spot_ok is '2'; it must be true or false"},
      {"negative memory", with("device_memory_gib", "-1"), "w:2: device_memory_gib is '-1'"},
      {"a service without load", with("kind", "service"), "w:2: a service needs load_file"},
      {"a service without rate", with("kind", "service"), "w:2: a service needs replica_rate"},
      {"replicas of a job", with("max_replicas", "3"),
       "w:2: max_replicas is '3'; it must be empty"},
      {"load that does not exist",
       "submit_s,duration_s,devices,kind,replica_rate,load_file\n0,1,1,service,1,none.csv\n",
       "w:2: load_file: none.csv: cannot open"},
      {"fewer at most than at least",
       "submit_s,duration_s,devices,kind,min_replicas,max_replicas\n0,1,1,service,3,2\n",
       "w:2: max_replicas is '2'; it must be a whole number from 3"},
      {"an open quote", "submit_s,duration_s,devices,name\n0,1,1,\"a\n", "w:2: a quote opens here"},
  };
  const Cluster cluster = cluster_of("fast:1x1");
  for (const BadText& bad : bads)
    expect_complaint(bad, parse_weft_csv({"w", bad.text}, cluster, nullptr));
}

TEST(WeftCsv, ReadsTheExample) {
  const Result<Trace> trace =
      read_trace(std::string(WEFT_FIXTURES) + "/../../examples/traces/small-cluster.csv",
                 cluster_of("16x8"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->jobs.size(), 400U);
}

}  // namespace
}  // namespace weft
