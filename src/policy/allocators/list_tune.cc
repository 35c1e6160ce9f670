// How a list policy gives processors and memory by sensitivity (Synergy, OSDI 2022, the greedy
// "tune"): a job gets the least with which it runs fastest; if that is not free, what it asks for
// (its proportional share); if that is not free either, jobs that hold more than they asked for go
// back to it. What is left over goes to placed jobs that gain by it.
#include <algorithm>
#include <tuple>

#include "model/same_ranks.h"
#include "policy/allocators/list_walk.h"

namespace weft {
namespace {

// The first of the menu that runs on the same ranks: what the job asks for there.
std::uint16_t asked_for(const Submission& spec, std::uint16_t configuration) {
  const std::vector<Configuration>& menu = spec.menu->configurations;
  std::uint16_t i = 0;
  while (!same_ranks(menu[i], menu[configuration])) ++i;
  return i;
}

bool asks_more(const Configuration& c, const Configuration& than) {
  return c.cpu_milli > than.cpu_milli || c.host_memory > than.host_memory;
}

}  // namespace

std::vector<std::uint16_t> tunings(const Submission& spec, const Allocation& held) {
  const std::vector<Configuration>& menu = spec.menu->configurations;
  if (!spec.elastic || menu.size() == 1) return {held.configuration};
  const std::uint16_t asked = asked_for(spec, held.configuration);
  std::vector<std::uint16_t> all;
  for (std::uint16_t i = asked; i < menu.size(); ++i) {
    if (menu[i].rate >= menu[asked].rate && same_ranks(menu[i], menu[asked])) all.push_back(i);
  }
  std::stable_sort(all.begin(), all.end(), [&](std::uint16_t a, std::uint16_t b) {
    return std::tie(menu[b].rate, menu[a].cpu_milli, menu[a].host_memory) <
           std::tie(menu[a].rate, menu[b].cpu_milli, menu[b].host_memory);
  });
  return all;
}

// Jobs with the same answer fit alike.
ModelId ListWalk::host_menu(const Submission& spec) {
  std::vector<std::pair<std::uint32_t, Bytes>> key;
  for (std::uint16_t i : tunings(spec, Allocation{})) {
    const Configuration& c = spec.menu->configurations[i];
    key.emplace_back(c.cpu_milli, c.host_memory);
  }
  return memory_.host_menus.emplace(std::move(key), static_cast<ModelId>(memory_.host_menus.size()))
      .first->second;
}

bool ListWalk::place_one_of(const JobState& job, const std::vector<std::uint16_t>& configurations,
                            Allocation& out) const {
  return std::any_of(configurations.begin(), configurations.end(), [&](std::uint16_t c) {
    return policy_.place_->place(state_, job, c, 1, out);
  });
}

bool ListWalk::fits_tuned(const JobState& job, Allocation& out) {
  const std::vector<std::uint16_t> best = tunings(*job.spec, Allocation{});
  if (place_one_of(job, best, out)) return true;
  if (place_as_asked(*policy_.place_, state_, job, 1, out)) return true;
  if (state_.ledger.free_whole_total() == 0 || memory_.tunable.empty()) return false;
  level_excess();
  if (place_as_asked(*policy_.place_, state_, job, 1, out)) return true;
  return place_one_of(job, best, out);
}

void ListWalk::retune(JobId id, std::uint16_t configuration) {
  const JobState& job = state_.job(id);
  Allocation held = job.held;
  held.configuration = configuration;
  fill_hosts(state_.cluster(), job.spec->menu->configurations[configuration], held);
  draft_.move(id, std::move(held));
}

// Whoever holds more than it asked for beside devices that are free goes back to that. Those who
// need not have done so grow again before the decision ends.
void ListWalk::level_excess() {
  for (JobId id : memory_.tunable) {
    const JobState& job = state_.job(id);
    const std::vector<Configuration>& menu = job.spec->menu->configurations;
    const std::uint16_t asked = asked_for(*job.spec, job.held.configuration);
    if (!asks_more(menu[job.held.configuration], menu[asked])) continue;
    const bool beside_free = std::any_of(
        job.held.devices.begin(), job.held.devices.end(), [&](const DeviceShare& share) {
          return state_.ledger.free_whole(state_.cluster().node_of(share.device)) > 0;
        });
    if (beside_free) retune(id, asked);
  }
}

// What the job holds beside its devices counts as free.
bool ListWalk::has_hosts_for(const JobState& job, const Configuration& configuration) const {
  Allocation wanted = job.held;
  fill_hosts(state_.cluster(), configuration, wanted);
  return std::all_of(wanted.hosts.begin(), wanted.hosts.end(), [&](const HostShare& host) {
    const Node& node = state_.cluster().nodes[host.node];
    Bytes memory = state_.ledger.used_host_memory(host.node) + host.memory;
    std::uint32_t cpu_milli = state_.ledger.used_cpu_milli(host.node) + host.cpu_milli;
    for (const HostShare& own : job.held.hosts) {
      if (own.node != host.node) continue;
      memory -= own.memory;
      cpu_milli -= own.cpu_milli;
    }
    return (node.cpu_milli == 0 || cpu_milli <= node.cpu_milli) &&
           (node.memory == 0 || memory <= node.memory);
  });
}

// In order of submission, everybody moves to the fastest of its tunings for which there is room, or
// to a less demanding one that is as fast.
void ListWalk::grow() {
  for (JobId id : memory_.tunable) {
    const JobState& job = state_.job(id);
    if (job.phase != Phase::kPlaced) continue;
    for (std::uint16_t c : tunings(*job.spec, job.held)) {
      if (c == job.held.configuration) break;
      if (!has_hosts_for(job, job.spec->menu->configurations[c])) continue;
      retune(id, c);
      break;
    }
  }
}

}  // namespace weft
