// Random small worlds for property tests: a cluster, a trace and everything that can go wrong.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/sim_testing.h"

namespace weft {

struct RandomCase {
  Cluster cluster;
  Trace trace;
  SimOptions options;
};

// Thrown out of a run that decides for ever; small cases need a few thousand decisions.
struct EndlessRun : std::runtime_error {
  explicit EndlessRun(Seconds at)
      : std::runtime_error(fmt::format("it decides for ever; time is {} s", at)) {}
};
inline constexpr long kMostDecisions = 200'000;

// What a random case may hold.
struct RandomCaseLimits {
  std::uint64_t most_jobs = 40;
  bool services = true;
  bool faults = true;   // of nodes and devices
  bool channel = true;  // delay, loss, duplication, refusal
};

// One to three device types, each on a few nodes of one size; some nodes are spot.
inline Cluster random_cluster(Random& random) {
  const char* names[] = {"v100", "p100", "k80"};
  std::string text;
  const std::uint64_t types = 1 + random.below(3);
  for (std::uint64_t t = 0; t < types; ++t) {
    text += fmt::format("{}{}:{}x{}", t == 0 ? "" : ",", names[t], 1 + random.below(4),
                        std::uint64_t{1} << random.below(4));
  }
  Cluster cluster = testing_cluster(text);
  for (size_t t = 0; t < cluster.types.size(); ++t) {
    cluster.types[t].speed = 1.0 / (1.0 + static_cast<double>(t));
    cluster.types[t].idle_watts = 40;
    cluster.types[t].power = {{100, 0.5}, {200, 0.8}, {300, 1}};
  }
  for (size_t n = 1; n < cluster.nodes.size(); ++n) {
    if (random.chance(0.2)) cluster.nodes[n].node_class = NodeClass::kSpot;
  }
  return cluster;
}

namespace random_case {

// The most devices of one type, on nodes that every job may use.
inline std::uint32_t widest(const Cluster& cluster, TypeId type, bool spot_ok) {
  std::uint32_t devices = 0;
  for (const Node& node : cluster.nodes) {
    const bool usable = spot_ok || node.node_class == NodeClass::kOnDemand;
    if (node.type == type && usable) devices += node.devices;
  }
  return devices;
}

inline void random_service(Random& random, Submission& job, Menu& menu, Truth& truth) {
  job.kind = WorkloadKind::kService;
  job.min_replicas = static_cast<std::uint32_t>(random.below(2));
  job.max_replicas = 1 + static_cast<std::uint32_t>(random.below(4));
  Configuration& c = menu.configurations.front();
  c.devices = 1;
  c.type = kAnyType;
  c.rate = 10;
  Seconds at = job.submit;
  for (std::uint64_t steps = 1 + random.below(4); steps > 0; --steps) {
    truth.load.push_back({at, random.uniform(0, 40)});
    at += random.uniform(50, 2000);
  }
  truth.service_end = at;
  truth.work = 0;
}

// Some elastic jobs offer more widths and types than the one they ask for.
inline void random_menu(Random& random, const Cluster& cluster, Submission& job, Menu& menu) {
  const Configuration asked = menu.configurations.front();
  if (!random.chance(0.3)) return;
  job.elastic = true;
  for (TypeId type = 0; type < cluster.types.size(); ++type) {
    const std::uint32_t most = std::min<std::uint32_t>(8, widest(cluster, type, job.spot_ok));
    for (std::uint32_t devices = 1; devices <= most; devices *= 2) {
      Configuration& c = menu.configurations.emplace_back(asked);
      c.type = type;
      c.devices = devices;
      c.rate = asked.rate * cluster.types[type].speed *
               std::pow(static_cast<double>(devices) / asked.devices, 0.8);
    }
  }
}

// Speeds that change as the job goes on.
inline void random_phases(Random& random, Submission& job, Truth& truth) {
  job.adaptation = random.chance(0.5) ? Adaptation::kAccordion : Adaptation::kNoiseScale;
  double from = 0;
  for (std::uint64_t left = 2 + random.below(4); left > 0; --left) {
    truth.phases.push_back({from, random.chance(0.5) ? 1 : random.uniform(0.5, 3)});
    from += random.uniform(20, 300);
  }
}

inline JobRow random_job(Random& random, const Cluster& cluster, Seconds submit,
                         const RandomCaseLimits& limits) {
  JobRow row;
  row.submit = submit;
  row.duration = random.chance(0.2) ? 300 : std::ceil(random.log_normal(6, 1.2));
  row.priority = static_cast<std::int32_t>(random.below(3));
  row.tenant = static_cast<TenantId>(random.below(3));
  row.estimate =
      random.chance(0.5) ? row.duration : std::ceil(row.duration * random.uniform(0.3, 3));
  if (random.chance(0.3)) row.deadline = submit + row.duration * random.uniform(1.1, 12);
  const bool service = limits.services && random.chance(0.06);
  row.edit = [&random, &cluster, service](Submission& job, Menu& menu, Truth& truth) {
    if (service) return random_service(random, job, menu, truth);
    Configuration& c = menu.configurations.front();
    const auto type = static_cast<TypeId>(random.below(cluster.types.size()));
    job.spot_ok = random.chance(0.8) || widest(cluster, type, false) == 0;
    const std::uint32_t most = widest(cluster, type, job.spot_ok);
    c.devices = std::min<std::uint32_t>(most, 1u << random.below(random.chance(0.1) ? 6 : 4));
    c.type = random.chance(0.5) ? type : kAnyType;
    job.weight = random.chance(0.2) ? 2 : 1;
    job.preemptible = random.chance(0.9);
    if (random.chance(0.15)) {
      c.devices = 1;
      c.milli = 250 * static_cast<std::uint32_t>(1 + random.below(3));
    } else {
      random_menu(random, cluster, job, menu);
    }
    job.declared_work = random.chance(0.5) ? truth.work : 0;
    if (random.chance(0.1)) random_phases(random, job, truth);
  };
  return row;
}

inline SimOptions random_options(Random& random, const RandomCaseLimits& limits) {
  SimOptions options = testing_options();
  options.seed = random.next() % 1'000'000;
  if (random.chance(0.3)) options.start_cost = random.uniform(0, 30);
  if (random.chance(0.5)) options.restart_cost = random.uniform(0, 60);
  if (random.chance(0.2)) options.estimates.kind = EstimateMode::Kind::kHistory;
  if (limits.channel && random.chance(0.8)) {
    Channel& channel = options.channel;
    if (random.chance(0.7)) channel.delay_mean = random.uniform(0, 20);
    if (random.chance(0.6)) channel.loss = random.uniform(0, 0.3);
    if (random.chance(0.6)) channel.duplication = random.uniform(0, 0.5);
    if (random.chance(0.6)) channel.refusal = random.uniform(0, 0.3);
  }
  if (limits.faults && random.chance(0.6)) {
    options.faults.node_mtbf = random.uniform(3000, 30000);
    options.faults.repair_mean = random.uniform(10, 1000);
    if (random.chance(0.3)) options.faults.controller_mtbf = random.uniform(100, 3000);
    options.faults.spot_mtbf = random.uniform(2000, 20000);
    options.faults.spot_gone_mean = random.uniform(10, 600);
    options.faults.spot_notice = random.uniform(0, 120);
    options.checkpoint_interval = random.uniform(10, 300);
    if (random.chance(0.5)) options.faults.device_mtbf = random.uniform(10000, 200000);
  }
  return options;
}

}  // namespace random_case

// The same seed gives the same case.
inline RandomCase make_random_case(std::uint64_t seed, const RandomCaseLimits& limits = {}) {
  Random random(seed);
  RandomCase made;
  made.cluster = random_cluster(random);
  std::vector<JobRow> rows;
  Seconds submit = 0;
  for (std::uint64_t left = 1 + random.below(limits.most_jobs); left > 0; --left) {
    if (random.chance(0.8)) submit += std::floor(random.exponential(150));
    rows.push_back(random_case::random_job(random, made.cluster, submit, limits));
  }
  made.trace = testing_trace(rows);
  made.options = random_case::random_options(random, limits);
  return made;
}

}  // namespace weft
