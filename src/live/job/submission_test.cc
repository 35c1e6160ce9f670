#include "live/job/submission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "live/job/fit.h"
#include "live/job/job_random_testing.h"
#include "policy/place.h"

namespace weft::live {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Two racks: four nodes of 8 A100 (80 GiB), two of 4 V100 (16 GiB, half as fast) of which one is
// spot.
Cluster small_park() {
  Cluster cluster = *parse_cluster_shorthand("a100:4x8,v100:2x4");
  cluster.types[0].memory = 80 * kGiB;
  cluster.types[1].memory = 16 * kGiB;
  cluster.types[1].speed = 0.5;
  for (NodeId id = 0; id < cluster.nodes.size(); ++id) {
    Node& node = cluster.nodes[id];
    node.cpu_milli = 32'000;
    node.memory = 256 * kGiB;
    node.domain[static_cast<int>(Level::kRack)] = id < 2 ? 0 : 1;
  }
  cluster.nodes[5].node_class = NodeClass::kSpot;
  return cluster;
}

JobSpec job_of(const std::string& accelerators, std::uint32_t num_nodes = 1) {
  JobSpec job;
  job.name = "a";
  job.run = "true";
  job.resources.accelerators = {*parse_accelerator(accelerators)};
  job.num_nodes = num_nodes;
  return job;
}

Submission submit(const JobSpec& job, const Cluster& cluster = small_park()) {
  EXPECT_TRUE(check_job(job).empty()) << check_job(job).front().what;
  const Result<Submission> made = make_submission(job, cluster, 3, {100, 1e9});
  EXPECT_TRUE(made.ok()) << made.error().text();
  return made.ok() ? *made : Submission{};
}

std::string refusal(const JobSpec& job) {
  const Result<Submission> made = make_submission(job, small_park(), 3, {100, 1e9});
  EXPECT_FALSE(made.ok());
  return made.ok() ? "" : made.error().text();
}

TEST(Submission, SaysWhatWasAsked) {
  JobSpec job = job_of("A100:8", 2);
  job.resources.cpus = 16;
  job.resources.memory = 64 * kGiB;
  job.bandwidth = {8e8, 8e9};
  job.time = 3600;
  job.priority = 7;
  job.deadline = {JobDeadline::Kind::kAfterSubmission, 7200};
  job.preemptible = false;
  job.topology = {Level::kRack, true};
  const Submission made = submit(job);
  EXPECT_EQ(made.tenant, 3);
  EXPECT_EQ(made.submit, 100);
  EXPECT_EQ(made.deadline, 7300);
  EXPECT_EQ(made.estimate.duration, 3600);
  EXPECT_EQ(made.estimate.source, EstimateSource::kUser);
  EXPECT_EQ(made.priority, 7);
  EXPECT_FALSE(made.preemptible);
  EXPECT_FALSE(made.spot_ok);
  EXPECT_FALSE(made.elastic);
  ASSERT_EQ(made.menu->configurations.size(), 1u);
  const Configuration& c = made.requested();
  EXPECT_EQ(c.type, 0);
  EXPECT_EQ(c.devices, 16u);
  EXPECT_EQ(c.milli, kWhole);
  EXPECT_EQ(c.cpu_milli, 2000u);
  EXPECT_EQ(c.host_memory, 8 * kGiB);
  EXPECT_EQ(c.network_guarantee, 1e8);
  EXPECT_EQ(c.network_limit, 1e9);
  EXPECT_EQ(c.pack, Level::kRack);
  EXPECT_TRUE(c.pack_required);
  EXPECT_EQ(c.rate, 1);
}

TEST(Submission, OneNodeIsOneNode) {
  EXPECT_EQ(submit(job_of("A100:8")).requested().pack, Level::kNode);
  EXPECT_EQ(submit(job_of("A100:8", 2)).requested().pack, Level::kCluster);
}

TEST(Submission, AlternativesAreTypesWithTheirSpeed) {
  JobSpec job = job_of("v100:2");
  job.resources.accelerators.push_back({"A100", 2});
  const Submission made = submit(job);
  ASSERT_EQ(made.menu->configurations.size(), 2u);
  EXPECT_EQ(made.menu->configurations[0].type, 1);
  EXPECT_EQ(made.menu->configurations[1].type, 0);
  EXPECT_EQ(made.menu->configurations[1].rate, 2);
  EXPECT_TRUE(runs_as_asked(made, 1));
}

TEST(Submission, ElasticJobsHaveSizes) {
  JobSpec job = job_of("A100:8");
  job.min_workers = 2;
  job.max_workers = 100;
  EXPECT_THAT(elastic_sizes(job),
              ElementsAre(2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 100));
  const Submission made = submit(job);
  EXPECT_TRUE(made.elastic);
  std::vector<std::uint32_t> sizes;
  for (const Configuration& c : made.menu->configurations) {
    sizes.push_back(c.devices);
    EXPECT_EQ(c.rate, c.devices / 8.0);
    EXPECT_EQ(c.pack, c.devices <= 8 ? Level::kNode : Level::kCluster);
  }
  EXPECT_THAT(sizes, ElementsAre(8, 2, 4, 16, 24, 32)) << "those that fit 32 devices";

  job.workers_per_node = 4;  // two devices each
  job.max_workers = 8;
  sizes.clear();
  const Submission halves = submit(job);
  for (const Configuration& c : halves.menu->configurations) sizes.push_back(c.devices);
  EXPECT_THAT(sizes, ElementsAre(8, 4, 16));
  job.max_workers = 1'000'000;
  EXPECT_LE(elastic_sizes(job).size(), kMostSizes);
}

std::vector<std::string> labels_of(const Submission& made) {
  std::vector<std::string> labels;
  for (const auto& c : made.menu->configurations) labels.push_back(c.sync + "/" + c.codec);
  return labels;
}

TEST(Submission, WithoutAModelTheRanksChooseByWhatTheyMeasure) {
  JobSpec job = job_of("A100:8", 2);
  job.codec = job.sync = {"auto"};
  const Submission made = submit(job);
  EXPECT_THAT(labels_of(made), ElementsAre("auto/auto"));
  EXPECT_FALSE(made.elastic);
  EXPECT_EQ(job_environment(job, made.menu->configurations[0]).at("WEFT_CODEC"), "auto");
}

TEST(Submission, TheCostModelFillsTheMenuOfAJobThatSaysWhatItTrains) {
  JobSpec job = job_of("A100:1", 4);
  job.codec = {"auto"};
  job.model = {25e6, 0.4, Optimizer::kSgd};
  Cluster slow = small_park();
  for (Node& node : slow.nodes) node.network_bytes_per_s = 25e6;
  const Submission made = submit(job, slow);
  EXPECT_TRUE(made.elastic);
  const auto& menu = made.menu->configurations;
  const auto labels = labels_of(made);
  EXPECT_EQ(std::set(labels.begin(), labels.end()).size(), labels.size()) << "each pair once";
  ASSERT_GE(menu.size(), 5u);
  EXPECT_NE(menu[0].codec, "none");
  EXPECT_EQ(menu[0].rate, 1);
  EXPECT_GT(menu[0].seconds_per_step, 0.4) << "coding counts";
  EXPECT_LT(menu[0].efficiency, 1);
  const auto plain = std::find_if(menu.begin(), menu.end(),
                                  [](const Configuration& c) { return c.codec == "none"; });
  ASSERT_NE(plain, menu.end());
  EXPECT_LT(plain->rate, 0.2) << "6 s on the wire for 0.4 s of computing";
  EXPECT_EQ(plain->efficiency, 1);
  EXPECT_NEAR(plain->seconds_per_step, 0.4, 1e-9);
  EXPECT_EQ(plain->traffic.bytes_per_step, 100'000'000);
  for (const Configuration& c : menu) {
    EXPECT_LE(c.traffic.bytes_per_step, plain->traffic.bytes_per_step) << c.codec;
    EXPECT_LE(c.rate * c.efficiency, menu[0].rate * menu[0].efficiency) << c.codec;
    EXPECT_EQ(c.sync, "bsp");
  }
  const auto envs = job_environment(job, *plain);
  EXPECT_EQ(envs.at("WEFT_CODEC"), "none");
  EXPECT_EQ(envs.at("WEFT_ALGORITHM"), plain->collective);
}

TEST(Submission, OnFastLinksAndOnOneNodePlainValuesComeFirst) {
  JobSpec job = job_of("A100:1", 4);
  job.codec = job.sync = {"auto"};
  job.model = {25e6, 0.4, Optimizer::kAdam};
  Cluster fast = small_park();
  for (Node& node : fast.nodes) node.network_bytes_per_s = 50e9;
  const Submission many = submit(job, fast);
  EXPECT_EQ(labels_of(many).front(), "bsp/none");
  EXPECT_GT(many.menu->configurations.size(), 5u) << "the others can be chosen";
  JobSpec one = job_of("A100:8");
  one.codec = job.codec;
  one.model = job.model;
  EXPECT_THAT(labels_of(submit(one, fast)), ElementsAre("bsp/none"));
  job.bandwidth.limit = 25e6;  // of its own
  EXPECT_NE(labels_of(submit(job, fast)).front(), "bsp/none");
}

TEST(Submission, RanksThatShareADeviceAreOnAsManyNodesAsTheirDevices) {
  JobSpec job = job_of("A100:1", 4);
  job.workers_per_node = 4;
  job.codec = {"auto"};
  job.model = {25e6, 0.4, Optimizer::kSgd};
  job.bandwidth.limit = 25e6;
  EXPECT_NE(labels_of(submit(job)).front(), "bsp/none");
}

TEST(Submission, MenusOfManySizesAndTypesStayWithinTheirLimit) {
  JobSpec job = job_of("A100:2", 2);
  job.codec = job.sync = {"auto"};
  job.model = {25e6, 0.4, Optimizer::kUnknown};
  job.min_workers = 1;
  job.max_workers = 32;
  Cluster slow = small_park();
  for (Node& node : slow.nodes) node.network_bytes_per_s = 25e6;
  const Submission made = submit(job, slow);
  EXPECT_LE(made.menu->configurations.size(), kMaxConfigurations);
  EXPECT_EQ(made.menu->configurations[0].devices, 4u);
}

TEST(Submission, CodecsAndModesAreEntries) {
  JobSpec job = job_of("A100:1");
  job.sync = {"bsp", "diloco"};
  job.codec = {"none", "int8"};
  const Submission made = submit(job);
  EXPECT_TRUE(made.elastic);
  EXPECT_THAT(labels_of(made), ElementsAre("bsp/none", "bsp/int8", "diloco/none", "diloco/int8"));

  job.envs = {{"MINE", "1"}, {"WEFT_CODEC", "fp16"}};
  job.checkpoint.dir = "/c";
  EXPECT_THAT(
      job_environment(job, made.menu->configurations[3]),
      ElementsAre(Pair("MINE", "1"), Pair("WEFT_CHECKPOINT_DIR", "/c"), Pair("WEFT_CODEC", "int8"),
                  Pair("WEFT_JOB", "a"), Pair("WEFT_SYNC", "diloco")));
  EXPECT_EQ(job_environment(job, {}).at("WEFT_CODEC"), "fp16") << "nothing was chosen";
}

TEST(Submission, SharesOfDevices) {
  JobSpec job = job_of("A100:1");
  job.share.percent = 25;
  EXPECT_EQ(submit(job).requested().milli, 250u);
  EXPECT_EQ(submit(job).requested().device_memory, 80 * kGiB / kWhole * 250);
  job.share = {20 * kGiB, 0};
  EXPECT_EQ(submit(job).requested().milli, 250u);
  job.share = {20 * kGiB, 50};
  EXPECT_EQ(submit(job).requested().milli, 500u);
  EXPECT_EQ(submit(job).requested().device_memory, 20 * kGiB);
  job.resources.accelerators = {{"", 1}};
  job.share = {8 * kGiB, 0};
  EXPECT_EQ(submit(job).requested().milli, 500u) << "of the smallest device it may get";
  job.share = {20 * kGiB, 0};
  EXPECT_EQ(submit(job).requested().milli, 250u) << "no V100 has as much";
  job.share = {90 * kGiB, 0};
  EXPECT_THAT(refusal(job), HasSubstr("share.memory is 90 GiB"));
}

TEST(Submission, AbsoluteDeadlinesAreOnTheControllersClock) {
  JobSpec job = job_of("A100:1");
  job.deadline = {JobDeadline::Kind::kAt, 1e9 + 50};
  EXPECT_EQ(submit(job).deadline, 150);
  job.deadline.seconds = 1e9 - 1;
  EXPECT_THAT(refusal(job), HasSubstr("deadline is 2001-09-09T01:46:39Z; it is"));
}

TEST(Submission, Services) {
  JobSpec job = job_of("V100:1");
  job.kind = WorkloadKind::kService;
  job.service = {0, 4, 25, 8080, 0.2};
  const Submission made = submit(job);
  EXPECT_EQ(made.kind, WorkloadKind::kService);
  EXPECT_EQ(made.min_replicas, 0u);
  EXPECT_EQ(made.max_replicas, 4u);
  EXPECT_EQ(made.latency_objective, 0.2);
  EXPECT_EQ(made.requested().rate, 25);
  EXPECT_EQ(made.menu->configurations.size(), 1u);
  job.service = {9, 9, 0, 0, 0};
  EXPECT_THAT(refusal(job), HasSubstr("4 such replicas would fit"));
}

TEST(Submission, SaysTheNearestThatWouldFit) {
  EXPECT_THAT(refusal(job_of("A10:1")),
              AllOf(HasSubstr("'A10'"), HasSubstr("did you mean 'a100'?")));
  EXPECT_THAT(refusal(job_of("A100:16")), HasSubstr("the most that fits so is 8; spread"));
  EXPECT_THAT(refusal(job_of("A100:8", 5)),
              AllOf(HasSubstr("40 a100 devices"), HasSubstr("32 such devices would fit")));
  EXPECT_THAT(refusal(job_of("V100:4", 2)), HasSubstr("use_spot: true it would fit"));
  JobSpec job = job_of("A100:8");
  job.resources.cpus = 64;
  EXPECT_THAT(refusal(job), HasSubstr("the most that fits so is 4; spread"));
  job.resources.cpus = 1000;
  EXPECT_THAT(refusal(job), HasSubstr("no node has the cpus or memory"));
  job = job_of("A100:8", 3);
  job.topology = {Level::kRack, true};
  EXPECT_THAT(refusal(job), HasSubstr("the most that fits so is 16"));
  job.topology.required = false;
  EXPECT_EQ(submit(job).requested().devices, 24u);
}

TEST(Submission, FitsExactlyWhatAPlacementFinds) {
  Random random(7);
  const PackedPlace anyhow(NodeOrder::kFirst, true);
  int fits = 0, misfits = 0;
  for (int i = 0; i < 400; ++i) {
    Cluster cluster = small_park();
    for (Node& node : cluster.nodes) node.cpu_milli = 1000 * (1 + random.below(16));
    const State empty(cluster);
    Submission made;
    made.spot_ok = random.chance(0.5);
    Configuration c;
    c.type = random.chance(0.3) ? kAnyType : static_cast<TypeId>(random.below(2));
    c.devices = 1 + static_cast<std::uint32_t>(random.below(12));
    c.cpu_milli = random.chance(0.5) ? 0 : 1000;
    c.pack = static_cast<Level>(random.below(kLevels));
    c.pack_required = random.chance(0.7);
    made.menu = std::make_shared<const Menu>(Menu{{c}});
    JobState job;
    job.spec = std::make_shared<const Submission>(made);
    Allocation unused;
    const bool placed = anyhow.place(empty, job, 0, 1, unused);
    const bool said = fits_empty(cluster, {c, 1, made.spot_ok});
    ASSERT_EQ(said, placed) << "case " << i << ": " << c.devices << " devices, level "
                            << static_cast<int>(c.pack) << (c.pack_required ? "!" : "");
    ++(placed ? fits : misfits);
  }
  EXPECT_GT(fits, 50);
  EXPECT_GT(misfits, 50);
}

TEST(Submission, ArraysBecomeMembers) {
  JobSpec job = job_of("A100:1");
  EXPECT_THAT(expand_array(job), ElementsAre(job));
  job.array = *parse_array("3-5:2,9%2");
  const std::vector<JobSpec> members = expand_array(job);
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[1].name, "a.5");
  EXPECT_EQ(members[1].envs.at("WEFT_ARRAY_INDEX"), "5");
  EXPECT_EQ(members[1].envs.at("SLURM_ARRAY_TASK_ID"), "5");
  EXPECT_EQ(members[2].array, (JobArray{{{9, 9, 1}}, 2}));
  for (const JobSpec& member : members) EXPECT_THAT(expand_array(member), ElementsAre(member));

  job.name = std::string(92, 'a');
  job.array = *parse_array("3999999,4000000");
  EXPECT_TRUE(check_job(job).empty());
  for (const JobSpec& member : expand_array(job)) EXPECT_TRUE(check_job(member).empty());
  job.name += "a";
  ASSERT_EQ(check_job(job).size(), 1u);
  EXPECT_THAT(check_job(job).front().what, HasSubstr("that of an array may have 92"));
}

}  // namespace
}  // namespace weft::live
