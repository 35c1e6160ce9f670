// The loads of fabric/flow_load.h on SimGrid, a program of its own that `weft bench flows` and the
// tests run: CM02, the plain max-min model, without cross-traffic, latency or TCP factors. SimGrid
// (LGPL-2.1) is linked here and nowhere else.
//   simgrid_flows random|ring HOSTS FLOWS SEED speed SECONDS   one JSON line
//   simgrid_flows random|ring HOSTS FLOWS SEED times COUNT     "number start_s end_s" of COUNT
//   flows
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

// After SimGrid 3's own headers, which it needs and does not include.
#include <simgrid/version.h>

#include "base/stopwatch.h"
#include "fabric/flow_load.h"

namespace weft {
namespace {

namespace s4u = simgrid::s4u;

// SimGrid's fat-tree zone chooses the spine by destination modulo number of spines, as D-mod-K
// does.
std::vector<s4u::Host*> build_hosts(std::uint32_t hosts) {
  const std::uint32_t width = leaf_width(hosts);
  std::vector<s4u::Host*> made(std::size_t{width} * width);
  constexpr auto kBothWays = s4u::Link::SharingPolicy::SPLITDUPLEX;
#if SIMGRID_VERSION_MAJOR >= 4  // has a root zone already, and gives zones their hosts
  s4u::Engine::get_instance()
      ->get_netzone_root()
      ->add_netzone_fatTree("clos", 2, {width, width}, {1, width}, {1, 1}, kLoadLinkBytesPerS, 0,
                            kBothWays)
      ->set_host_cb(
          [&made](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
            return made[id] = zone->add_host(fmt::format("host{}", id), 1e9)->seal();
          })
      ->seal();
#else
  const auto make = [&made](s4u::NetZone* zone, const std::vector<unsigned long>&,
                            unsigned long id) {
    made[id] = zone->create_host(fmt::format("host{}", id), 1e9)->seal();
    return std::make_pair(made[id]->get_netpoint(),
                          static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
  };
  s4u::create_fatTree_zone("clos", nullptr, {2, {width, width}, {1, width}, {1, 1}},
                           s4u::ClusterCallbacks(make), kLoadLinkBytesPerS, 0, kBothWays)
      ->seal();
#endif
  return made;
}

// What happens to the flows that have ended: each is told to `end`, which answers whether to go on.
struct Load {
  LoadPattern pattern;
  std::vector<s4u::Host*> hosts;
  std::uint32_t flows;
  LoadSource source;
  std::function<bool(std::uint64_t number, double start_s)> end;
};

// One actor for each flow that runs at a time.
void random_actor(Load& load) {
  while (true) {
    const std::uint64_t number = load.source.taken();
    const LoadFlow flow = load.source.next();
    const double start_s = s4u::Engine::get_clock();
    s4u::Comm::sendto(load.hosts[flow.from], load.hosts[flow.to],
                      static_cast<std::uint64_t>(flow.bytes));
    if (!load.end(number, start_s)) break;
  }
  s4u::Actor::kill_all();  // all others
}

void ring_actor(Load& load) {
  for (bool more = true; more;) {
    const std::uint64_t first = load.source.taken();
    const double start_s = s4u::Engine::get_clock();
    std::vector<s4u::CommPtr> step;
    for (std::uint32_t i = 0; i < load.flows; ++i) {
      const LoadFlow flow = load.source.next();
      step.push_back(s4u::Comm::sendto_async(load.hosts[flow.from], load.hosts[flow.to],
                                             static_cast<std::uint64_t>(flow.bytes)));
    }
    for (const s4u::CommPtr& flow : step) flow->wait();  // SimGrid 4.1 has no wait_all
    for (std::uint32_t i = 0; i < load.flows && more; ++i) more = load.end(first + i, start_s);
  }
}

void simulate(s4u::Engine& engine, Load& load) {
  if (load.pattern == LoadPattern::kRing) {
    s4u::Actor::create("ring", load.hosts[0], ring_actor, std::ref(load));
  } else {
    for (std::uint32_t i = 0; i < load.flows; ++i) {
      s4u::Actor::create("flow", load.hosts[0], random_actor, std::ref(load));
    }
  }
  engine.run();
}

// Half of `seconds` to reach the steady state, then `seconds` that count.
void print_speed(s4u::Engine& engine, Load& load, double seconds) {
  double begin = thread_cpu_seconds(), now = begin;
  bool counting = false;
  std::uint64_t completions = 0;
  load.end = [&](std::uint64_t number, double) {
    ++completions;
    // The flows of a ring step end together: one look at the clock for all.
    if (load.pattern == LoadPattern::kRing && (number + 1) % load.flows != 0) return true;
    now = thread_cpu_seconds();
    if (!counting && now - begin > seconds / 2) {
      counting = true;
      completions = 0;
      begin = now;
    }
    return !counting || now - begin < seconds;
  };
  simulate(engine, load);
  std::printf(
      "{\"completions_per_cpu_s\": %.6g, \"completions\": %llu, \"peak_rss_bytes\": %lld}\n",
      static_cast<double>(completions) / (now - begin),
      static_cast<unsigned long long>(completions), static_cast<long long>(peak_rss_bytes()));
}

void print_times(s4u::Engine& engine, Load& load, std::uint64_t count) {
  std::uint64_t ended = 0;
  load.end = [&](std::uint64_t number, double start_s) {
    std::printf("%llu %.17g %.17g\n", static_cast<unsigned long long>(number), start_s,
                s4u::Engine::get_clock());
    return ++ended < count;
  };
  simulate(engine, load);
}

int run(char** argv) {
  // Times are exact to a nanosecond, where the default is ten microseconds.
  std::vector<std::string> settings = {argv[0],
                                       "--cfg=network/model:CM02",
                                       "--cfg=network/crosstraffic:0",
                                       "--cfg=network/bandwidth-factor:1",
                                       "--cfg=network/latency-factor:1",
                                       "--cfg=network/weight-S:0",
                                       "--cfg=network/TCP-gamma:0",
                                       "--cfg=surf/precision:1e-9",
                                       "--cfg=contexts/stack-size:64",
                                       "--log=root.thres:error"};
  std::vector<char*> words;
  for (std::string& setting : settings) words.push_back(setting.data());
  int count = static_cast<int>(words.size());
  s4u::Engine engine(&count, words.data());
  const std::string pattern = argv[1], task = argv[5];
  const auto hosts = static_cast<std::uint32_t>(std::atoi(argv[2]));
  Load load{pattern == "ring" ? LoadPattern::kRing : LoadPattern::kRandom,
            build_hosts(hosts),
            static_cast<std::uint32_t>(std::atoi(argv[3])),
            {pattern == "ring" ? LoadPattern::kRing : LoadPattern::kRandom, hosts,
             static_cast<std::uint64_t>(std::atoll(argv[4]))},
            {}};
  if (load.pattern == LoadPattern::kRing) load.flows = hosts;
  if (task == "speed") {
    print_speed(engine, load, std::atof(argv[6]));
  } else {
    print_times(engine, load, static_cast<std::uint64_t>(std::atoll(argv[6])));
  }
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc == 7 && std::atoi(argv[2]) >= 2 && std::atoi(argv[3]) >= 1) {
    return weft::run(argv);
  }
  std::fputs("usage: simgrid_flows random|ring HOSTS FLOWS SEED speed SECONDS|times COUNT\n",
             stderr);
  return 2;
}
