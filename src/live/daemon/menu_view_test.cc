#include "live/daemon/menu_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "live/job/submission.h"

namespace weft::live {
namespace {

JobSpec four_nodes() {
  JobSpec job;
  job.name = "a";
  job.run = "true";
  job.resources.accelerators = {{"", 1}};
  job.num_nodes = 4;
  return job;
}

TEST(MenuView, StatesBytesCodingAndProgressOfEveryEntryAndWhoSaysSo) {
  Cluster cluster = *parse_cluster_shorthand("4x1");
  for (Node& node : cluster.nodes) node.network_bytes_per_s = 25e6;
  JobSpec job = four_nodes();
  job.codec = {"auto"};
  job.model = {25e6, 0.4, Optimizer::kAdam};
  const auto made = make_submission(job, cluster, 0, {0, 1e9});
  ASSERT_TRUE(made.ok());
  const auto rows = menu_view(*made->menu, job, cluster);
  ASSERT_EQ(rows.size(), made->menu->configurations.size());
  for (const auto& row : rows) {
    EXPECT_EQ(row.at("devices"), 4);
    EXPECT_TRUE(row.at("type").is_null());
    EXPECT_GT(row.at("bytes_per_step"), 0);
    EXPECT_GT(row.at("efficiency"), 0);
    EXPECT_TRUE(row.at("efficiency_source").is_string()) << row;
    EXPECT_EQ(row.at("coding_s") == 0, row.at("codec") == "none") << row;
  }
}

TEST(MenuView, SaysNothingOfWhatNobodyKnows) {
  const Cluster cluster = *parse_cluster_shorthand("4x1");
  const JobSpec job = four_nodes();
  const auto made = make_submission(job, cluster, 0, {0, 1e9});
  ASSERT_TRUE(made.ok());
  const auto rows = menu_view(*made->menu, job, cluster);
  ASSERT_EQ(rows.size(), 1u);
  for (const char* key :
       {"codec", "sync", "collective", "efficiency", "bytes_per_step", "coding_s"}) {
    EXPECT_TRUE(rows[0].at(key).is_null()) << key;
  }
}

}  // namespace
}  // namespace weft::live
