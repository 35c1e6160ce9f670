// How long a live controller takes to decide on a large cluster in steady state: the daemon's
// journal (in memory), board and controller with simulated jobs on 12,500 nodes of 8 devices, all
// of them busy and never fewer than 10,000 jobs waiting, while jobs come and end. A round is what
// the daemon's thread does between two waits: it folds events, asks the policy and writes the step
// down. Policies that shrink jobs or start short ones first empty a queue sooner; for them more
// jobs are there from the beginning.
#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/statistics.h"
#include "base/table.h"
#include "sim/engine.h"
#include "tests/daemon_side_testing.h"

namespace weft {
namespace {

constexpr std::uint32_t kQueued = 10'000;
constexpr long kMeasured = 3000;  // decisions
constexpr Seconds kWarmUp = 600;
constexpr double kMeanSeconds = 7200;
constexpr double kLimit_s = 0.1;

struct Enough {};  // thrown out of a run that was measured

std::shared_ptr<const Menu> menu_of(std::uint32_t devices) {
  Menu menu;
  // What was asked for, and for elastic jobs half and double of it.
  for (const std::uint32_t size : {devices, std::max(1u, devices / 2), devices * 2}) {
    Configuration& c = menu.configurations.emplace_back();
    c.devices = size;
    c.rate = std::pow(static_cast<double>(size) / devices, 0.8);
  }
  return std::make_shared<const Menu>(std::move(menu));
}

// Sizes and durations are skewed as in published traces: most jobs are small and short.
// `backlog` jobs more than the devices suffice for are there at the beginning.
Trace make_trace(const Cluster& cluster, std::size_t backlog, std::uint64_t seed) {
  const std::uint32_t sizes[] = {1, 1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16};
  std::vector<std::shared_ptr<const Menu>> menus;
  double mean_size = 0;
  for (const std::uint32_t size : sizes) {
    menus.push_back(menu_of(size));
    mean_size += size / static_cast<double>(std::size(sizes));
  }
  const double at_once = cluster.device_count() / mean_size;
  const auto standing = static_cast<std::size_t>(at_once) + backlog;
  Random random(seed);
  Trace trace;
  trace.path = "steady";
  trace.tenants = {"a", "b", "c", "d"};
  Seconds at = 0;
  for (std::size_t i = 0; i < standing + 4 * kMeasured; ++i) {
    if (i >= standing) at += random.exponential(kMeanSeconds / at_once);
    auto job = std::make_shared<Submission>();
    job->name = std::to_string(i);
    job->submit = at;
    job->tenant = static_cast<TenantId>(random.below(4));
    job->priority = static_cast<std::int32_t>(random.below(3));
    job->menu = menus[random.below(menus.size())];
    job->elastic = random.chance(0.5);
    Truth truth;
    truth.work = random.log_normal(std::log(kMeanSeconds) - 0.5, 1);
    truth.user_estimate = truth.work * random.log_normal(0, 0.5);
    trace.jobs.push_back({std::move(job), std::move(truth)});
  }
  return trace;
}

struct Measured {
  Summary rounds_s;
  std::uint32_t waiting = 0, placed = 0;  // at the end
  std::uint32_t least_waiting = std::numeric_limits<std::uint32_t>::max();
};

Measured measure(const std::string& name, std::size_t backlog, std::uint64_t seed) {
  const ScratchStore store;
  DaemonSetup setup{parse_cluster_shorthand("12500x8").value(), name, store.path(), {}};
  const Trace trace = make_trace(setup.cluster, backlog, seed);
  const auto policy = assemble(find_policy(name).value()).value();
  std::vector<double> rounds_s;
  Measured out;
  SimRequest request;
  request.cluster = &setup.cluster;
  request.trace = &trace;
  request.policy = policy.get();
  request.options.estimates.kind = EstimateMode::Kind::kUser;
  request.options.channel.delay_mean = 0.05;
  request.control_side = [&](Executor& executor, Journal& journal) {
    auto side = std::make_unique<DaemonSide>(setup, executor, journal);
    side->on_decision = [&, it = side.get()](Seconds took) {
      const State& state = it->controller().state();
      if (state.now < kWarmUp) return;
      rounds_s.push_back(took);
      out.waiting = state.waiting;
      out.placed = state.placed;
      out.least_waiting = std::min(out.least_waiting, state.waiting);
      if (out.least_waiting < kQueued || rounds_s.size() >= static_cast<std::size_t>(kMeasured))
        throw Enough{};
    };
    return side;
  };
  try {
    static_cast<void>(simulate(request));
  } catch (const Enough&) {
  }
  out.rounds_s = summarize(std::move(rounds_s));
  return out;
}

// With as many jobs at the beginning as it takes.
Measured measure_full(const std::string& policy) {
  for (std::size_t backlog = kQueued;; backlog *= 2) {
    const Measured m = measure(policy, backlog, 1);
    if (m.least_waiting >= kQueued) return m;
    std::fprintf(stderr, "%s: a backlog of %zu is soon too short\n", policy.c_str(), backlog);
  }
}

int run(int argc, char** argv) {
  std::vector<std::string> policies(argv + 1, argv + argc);
  if (policies.empty()) policies = {"backfill", "2d-las", "quota", "sia"};
  Table table({"<policy", "least waiting", "waiting", "placed", "p50 ms", "p99 ms", "worst ms",
               "limit p99 ms"});
  bool kept = true;
  for (const std::string& policy : policies) {
    const Measured m = measure_full(policy);
    kept = kept && m.rounds_s.p99 <= kLimit_s;
    table.row({policy, std::to_string(m.least_waiting), std::to_string(m.waiting),
               std::to_string(m.placed), fmt::format("{:.3f}", m.rounds_s.p50 * 1e3),
               fmt::format("{:.3f}", m.rounds_s.p99 * 1e3),
               fmt::format("{:.3f}", m.rounds_s.max * 1e3), fmt::format("{:.0f}", kLimit_s * 1e3)});
  }
  std::fputs(table.text().c_str(), stdout);
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::run(argc, argv); }
