#include "model/readers/alibaba_reader.h"

#include "model/readers/reader_testing.h"

namespace weft {
namespace {

TEST(AlibabaNodes, LeavesOutNodesWithoutGpus) {
  const Result<Cluster> cluster = read_cluster(fixture("clusters/openb_nodes.csv"));
  ASSERT_TRUE(cluster.ok()) << cluster.error().text();
  ASSERT_EQ(cluster->nodes.size(), 3U);
  EXPECT_EQ(cluster->device_count(), 12U);
  EXPECT_EQ(cluster->types[0].name, "T4");
  EXPECT_EQ(cluster->device_count(1), 8U);
  EXPECT_EQ(cluster->nodes[1].name, "n2");
  EXPECT_EQ(cluster->nodes[1].cpu_milli, 96000U);
  EXPECT_EQ(cluster->nodes[1].memory, 384 * kGiB);
}

TEST(AlibabaNodes, ComplainsWithLineValueAndLimit) {
  const std::string header = "sn,cpu_milli,memory_mib,gpu,model\n";
  const BadText bads[] = {
      {"too many devices", header + "a,1,1,65,T4\n",
       "n:2: gpu is '65'; it must be a whole number from 0 to 64"},
      {"no type", header + "a,1,1,2,\n", "n:2: model is empty"},
      {"no GPU at all", header + "a,1,1,0,\n", "n:1: has no GPU"},
      {"a column is missing", "sn,gpu,model\n", "column 'cpu_milli' is missing"},
  };
  for (const BadText& bad : bads) expect_complaint(bad, parse_alibaba_nodes({"n", bad.text}));
}

TEST(AlibabaPods, ReadsWholeAndPartialDevices) {
  const Result<Trace> trace =
      read_trace(fixture("traces/alibaba_pods.csv"), cluster_of("T4:2x2,V100:1x8,P100:1x1"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  ASSERT_EQ(trace->jobs.size(), 3U);
  EXPECT_EQ(trace->skipped_rows, 2);
  const Submission& whole = *trace->jobs[0].submission;
  EXPECT_EQ(whole.kind, WorkloadKind::kTask);
  EXPECT_EQ(whole.requested().milli, kWhole);
  EXPECT_EQ(trace->jobs[0].truth.work, 900) << "from its scheduling";
  const Submission& part = *trace->jobs[1].submission;
  EXPECT_EQ(part.requested().milli, 460U);
  EXPECT_EQ(part.requested().cpu_milli, 6000U);
  EXPECT_EQ(part.requested().host_memory, 4 * kGiB);
  EXPECT_EQ(part.requested().type, kAnyType);
  EXPECT_LT(part.priority, whole.priority);
  EXPECT_EQ(trace->jobs[1].truth.work, 300) << "from its creation: it was never scheduled";
  const Submission& eight = *trace->jobs[2].submission;
  ASSERT_EQ(eight.menu->configurations.size(), 2U);
  EXPECT_EQ(eight.menu->configurations[0].type, 1) << "V100 is named first";
  EXPECT_EQ(eight.menu->configurations[1].type, 0);
  EXPECT_TRUE(eight.elastic);
  EXPECT_EQ(eight.requested().cpu_milli, 8000U) << "beside each device";
  EXPECT_EQ(eight.requested().host_memory, 32 * kGiB);
}

TEST(AlibabaPods, ARestrictionIsDroppedWhereTypesHaveNoName) {
  const Result<Trace> trace = read_trace(fixture("traces/alibaba_pods.csv"), cluster_of("4x8"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->jobs[2].submission->requested().type, kAnyType);
}

TEST(AlibabaPods, ComplainsWithLineValueAndLimit) {
  const std::string header =
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
      "deletion_time,scheduled_time\n";
  const BadText bads[] = {
      {"more than a device", header + "p,1,1,1,1001,,LS,Running,0,9,0\n",
       "a:2: gpu_milli is '1001'; it must be a whole number from 1 to 1000"},
      {"none of a device", header + "p,1,1,1,0,,LS,Running,0,9,0\n", "a:2: gpu_milli is '0'"},
      {"unknown class", header + "p,1,1,1,10,,Gold,Running,0,9,0\n", "a:2: qos is 'Gold'"},
      {"deleted before it began", header + "p,1,1,1,10,,LS,Running,0,9,10\n",
       "a:2: deletion_time is '9'; it must be at least 10"},
      {"unknown type", header + "p,1,1,1,10,A100,LS,Running,0,9,0\n",
       "a:2: gpu_spec is 'A100'; it must be one or more of the cluster's device types, T4"},
      {"only pods without a GPU", header + "p,1,1,0,0,,LS,Running,0,9,0\n",
       "a: holds no jobs (1 rows were passed over)"},
  };
  const Cluster cluster = cluster_of("T4:1x1");
  for (const BadText& bad : bads)
    expect_complaint(bad, parse_alibaba_pods({"a", bad.text}, cluster));
}

TEST(AlibabaPods, ReadsThePublishedLists) {
  const std::string nodes = shared_data("alibaba-2023/openb_node_list_all_node.csv");
  const std::string pods = shared_data("alibaba-2023/openb_pod_list_default.csv");
  SKIP_WITHOUT(nodes);
  SKIP_WITHOUT(pods);
  const Result<Cluster> cluster = read_cluster(nodes);
  ASSERT_TRUE(cluster.ok()) << cluster.error().text();
  EXPECT_EQ(cluster->nodes.size(), 1213U);
  EXPECT_EQ(cluster->device_count(), 6212U);
  const Result<Trace> trace = read_trace(pods, *cluster, {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->jobs.size() + static_cast<size_t>(trace->skipped_rows), 8152U);
  EXPECT_EQ(trace->skipped_rows, 1088 + 1);
}

}  // namespace
}  // namespace weft
