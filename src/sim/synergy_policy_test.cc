// Synergy: processors and memory go to the jobs that gain by them, and nobody loses by it.
#include <cmath>
#include <map>
#include <set>

#include "base/random.h"
#include "sim/pair_testing.h"

namespace weft {
namespace {

// Processors beside each device, memory beside each device, and speed with them.
struct Tuning {
  std::uint32_t cpus;
  Bytes memory_gib;
  double rate;
};

JobRow sensitive(Seconds submit, std::uint32_t devices, double work,
                 const std::vector<Tuning>& tunings) {
  JobRow row{submit, devices, work};
  row.edit = [tunings](Submission& spec, Menu& menu, Truth&) {
    const Configuration asked = menu.configurations.front();
    menu.configurations.clear();
    spec.elastic = tunings.size() > 1;
    for (const Tuning& tuning : tunings) {
      Configuration& c = menu.configurations.emplace_back(asked);
      c.cpu_milli = tuning.cpus * 1000;
      c.host_memory = tuning.memory_gib * kGiB;
      c.rate = tuning.rate;
    }
  };
  return row;
}

// Nodes with three processors and 8 GiB for each device.
Cluster proportional_cluster(const std::string& shorthand) {
  Cluster cluster = testing_cluster(shorthand);
  for (Node& node : cluster.nodes) {
    node.cpu_milli = 3000u * node.devices;
    node.memory = 8 * kGiB * node.devices;
  }
  return cluster;
}

// Counts what running jobs hold beside their devices, from commands and outcomes.
class HostAuditor : public Journal {
 public:
  explicit HostAuditor(const Cluster& cluster) : cluster_(cluster) {}
  void event(const Event& e) override {
    if (e.kind == EventKind::kFinished || e.kind == EventKind::kCrashed) held_.erase(e.job);
    if (e.kind == EventKind::kOutcome && stopping_.erase(e.job) > 0) held_.erase(e.job);
  }
  void command(Seconds at, const Command& c) override {
    if (c.kind == CommandKind::kStop) {
      stopping_.insert(c.job);
      return;
    }
    held_[c.job] = c.allocation->hosts;
    std::map<NodeId, std::pair<std::uint32_t, Bytes>> use;
    for (const auto& [job, hosts] : held_) {
      for (const HostShare& host : hosts) {
        use[host.node].first += host.cpu_milli;
        use[host.node].second += host.memory;
      }
    }
    for (const auto& [node, sum] : use) {
      EXPECT_LE(sum.first, cluster_.nodes[node].cpu_milli) << "at " << at;
      EXPECT_LE(sum.second, cluster_.nodes[node].memory) << "at " << at;
    }
  }

 private:
  const Cluster& cluster_;
  std::map<JobId, std::vector<HostShare>> held_;
  std::set<JobId> stopping_;
};

RunResult run_audited(const std::string& shorthand, const std::vector<JobRow>& rows,
                      const std::string& policy_name,
                      const SimOptions& options = testing_options()) {
  const Cluster cluster = proportional_cluster(shorthand);
  const Trace trace = testing_trace(rows);
  HostAuditor auditor(cluster);
  Journal* const journal = options.channel.perfect() ? &auditor : nullptr;
  Result<RunResult> result =
      run_trace(cluster, trace, *testing_policy(policy_name), options, journal);
  CHECK_MSG(result.ok(), result.ok() ? "" : result.error().text().c_str());
  return std::move(result).value();
}

const std::vector<Tuning> kHungry = {{3, 8, 1}, {5, 8, 2}};
const std::vector<Tuning> kFrugal = {{3, 8, 1}, {1, 8, 1}};
const std::vector<Tuning> kPlain = {{3, 8, 1}};

// Two devices, six processors. b runs as fast with one processor, so a has five and goes twice as
// fast: it ends at 60 and c starts then. With proportional shares b ends first, at 100.
TEST(SynergyPolicy, WhoGainsGetsWhatOthersDoNotNeed) {
  const std::vector<JobRow> rows = {sensitive(0, 1, 120, kHungry), sensitive(0, 1, 100, kFrugal),
                                    sensitive(0, 1, 50, kPlain)};
  const RunResult got = run_audited("1x2", rows, "synergy");
  EXPECT_EQ(starts_of(got), (std::vector<Seconds>{0, 0, 60}));
  EXPECT_EQ(ends_of(got), (std::vector<Seconds>{60, 100, 110}));
  for (const char* sibling : {"fifo", "{base: fifo, allocate: {part: list, backfill: any}}"}) {
    EXPECT_EQ(starts_of(run_audited("1x2", rows, sibling)), (std::vector<Seconds>{0, 0, 100}))
        << sibling;
  }
}

// a alone has five of six processors. b asks for three and must not wait: a goes back to the three
// it asked for, until b ends. 2 x 10 + 1 x 30 done by 40, the other 150 at double speed.
TEST(SynergyPolicy, ExcessGoesBackWhenAJobNeedsItsShare) {
  const std::vector<JobRow> rows = {sensitive(0, 1, 200, kHungry), sensitive(10, 1, 30, kPlain)};
  const RunResult got = run_audited("1x2", rows, "synergy");
  EXPECT_EQ(starts_of(got), (std::vector<Seconds>{0, 10}));
  EXPECT_EQ(ends_of(got), (std::vector<Seconds>{115, 40}));
  EXPECT_EQ(got.restarts, 0);
}

// Memory works the same way.
TEST(SynergyPolicy, MemoryIsTunedToo) {
  const std::vector<JobRow> rows = {sensitive(0, 1, 100, {{3, 8, 1}, {3, 12, 2}}),
                                    sensitive(0, 1, 100, {{3, 8, 1}, {3, 4, 1}})};
  EXPECT_EQ(ends_of(run_audited("1x2", rows, "synergy")), (std::vector<Seconds>{50, 100}));
}

std::vector<JobRow> random_tuned_rows(std::uint64_t seed) {
  Random random(seed);
  std::vector<JobRow> rows;
  Seconds submit = 0;
  for (int i = 0; i < 30; ++i) {
    submit += std::floor(random.exponential(25));
    std::vector<Tuning> tunings = {{3, 8, 1}};
    for (std::uint64_t more = random.below(4); more > 0; --more) {
      const auto cpus = static_cast<std::uint32_t>(1 + random.below(8));
      const auto memory = static_cast<Bytes>(2 + random.below(14));
      tunings.push_back({cpus, memory, random.uniform(0.5, 2.5)});
    }
    rows.push_back(
        sensitive(submit, 1u << random.below(4), std::ceil(random.uniform(10, 400)), tunings));
  }
  return rows;
}

// OSDI 2022: a job never gets less throughput than with its GPU-proportional share, so no job is on
// its devices for longer than it would be with that; and in the mean it pays.
TEST(SynergyPolicy, NobodyIsSlowerThanWithItsProportionalShareOnRandomTraces) {
  double tuned = 0, proportional = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<JobRow> rows = random_tuned_rows(seed);
    for (const char* policy :
         {"synergy", "{base: srtf, allocate: {part: list, preempt: true, tune: true}}"}) {
      const RunResult got = run_audited("3x4", rows, policy);
      for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_LE(got.records[i].run_s, rows[i].duration + 1e-6) << policy << ", seed " << seed;
      }
      if (policy == std::string("synergy")) tuned += got.jct_s.mean;
    }
    proportional +=
        run_audited("3x4", rows, "{base: synergy, allocate: {part: list, backfill: any}}")
            .jct_s.mean;
  }
  EXPECT_LT(tuned, proportional);
}

TEST(SynergyPolicy, SurvivesDelayLossRefusalAndFailures) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RunResult got =
        run_audited("3x4", random_tuned_rows(seed), "synergy", hard_options(seed));
    for (const JobRecord& record : got.records) EXPECT_LT(record.end, kNever);
  }
}

}  // namespace
}  // namespace weft
