#include "model/readers/reader_testing.h"

namespace weft {
namespace {

TEST(ClusterShorthand, OneType) {
  const Result<Cluster> cluster = read_cluster("16x8");
  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(cluster->nodes.size(), 16U);
  EXPECT_EQ(cluster->device_count(), 128U);
  EXPECT_EQ(cluster->types.size(), 1U);
  EXPECT_EQ(cluster->node_of(127), 15U);
  EXPECT_EQ(cluster->text, "16x8");
  EXPECT_EQ(cluster->nodes[3].name, "node-3");
}

TEST(ClusterShorthand, SeveralTypes) {
  const Result<Cluster> cluster = read_cluster("v100:2x4, p100:4x4,k80:6x4,v100:1x8");
  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(cluster->types.size(), 3U);
  EXPECT_EQ(cluster->device_count(0), 16U);
  EXPECT_EQ(cluster->device_count(2), 24U);
  EXPECT_EQ(cluster->type_of(8), 1);
  EXPECT_EQ(cluster->nodes.back().name, "node-12");
}

TEST(ClusterShorthand, ComplainsWithValueAndLimit) {
  const BadText bads[] = {
      {"no nodes", "0x8", "group '0x8' has 0 nodes; it must have 1 to 16000000"},
      {"negative", "-1x8", "has -1 nodes"},
      {"no devices", "4x0", "has 0 devices per node; it must have 1 to 64"},
      {"too many in a node", "4x65", "has 65 devices per node"},
      {"too many in all", "16000000x1,1x1", "has 16000001 devices or more; the limit is 16000000"},
      {"overflow", "99999999999999999999x8", "is neither a shorthand nor a file that exists"},
      {"no type", ":4x4", "is neither a shorthand nor a file"},
      {"nothing", "", "cluster '' is neither"},
      {"a trailing comma", "4x4,", "is neither a shorthand nor a file"},
      {"a folder", "/", "it is a folder"},
  };
  for (const BadText& bad : bads) expect_complaint(bad, read_cluster(bad.text));
  EXPECT_FALSE(parse_cluster_shorthand("park.yaml").ok());
}

TEST(ClusterFile, AHugeOrEmptyFileIsRefused) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("weft-cluster-" + std::to_string(::getpid())))
          .string();
  ASSERT_TRUE(write_file_atomically(path, "").ok());
  expect_complaint({"empty", "", "is empty"}, read_cluster(path));
  std::filesystem::resize_file(path, std::uintmax_t{10} << 30);
  expect_complaint({"10 GB", "", "is 10737418240 bytes or more; the limit is"}, read_cluster(path));
  std::filesystem::remove(path);
}

TEST(ClusterFile, ReadsTheExamples) {
  for (const char* const name : {"cloud-mix.yaml", "two-pods.yaml"}) {
    const Result<Cluster> cluster =
        read_cluster(std::string(WEFT_FIXTURES) + "/../../examples/clusters/" + name);
    ASSERT_TRUE(cluster.ok()) << cluster.error().text();
    EXPECT_GT(cluster->device_count(), 0U);
  }
}

}  // namespace
}  // namespace weft
