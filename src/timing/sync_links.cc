#include "timing/sync_links.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/check.h"
#include "collective/algorithms.h"
#include "fabric/topology.h"
#include "timing/schedule_run.h"

namespace weft {
namespace {

constexpr std::int64_t kMostSyncMessages = 4'000'000;
constexpr std::size_t kMostForExchange = 16;  // as live ranks have it

// Ranks at one ideal switch. Between two of them a message has half of either's latency.
Topology star(const std::vector<RankLink>& links) {
  const auto ranks = static_cast<std::uint32_t>(links.size());
  auto topology = parse_topology_shorthand("switch", ranks);
  CHECK(topology.ok());
  topology->message_overhead = 0;
  for (DirectedLink& link : topology->links) {
    const RankLink& of = links[link.from < ranks ? link.from : link.to];
    link.bytes_per_s = of.bytes_per_s;
    link.latency = of.latency_s / 2;
  }
  return std::move(*topology);
}

std::vector<const char*> algorithms_for(std::size_t ranks) {
  std::vector<const char*> names = {"ring"};
  if (std::has_single_bit(ranks)) names.push_back("halving-doubling");
  if (ranks <= kMostForExchange) names.push_back("exchange");
  return names;
}

}  // namespace

const AverageClock::Cost& AverageClock::cost(const std::vector<std::uint32_t>& ranks,
                                             double bytes) {
  if (last_ != nullptr && bytes == last_bytes_ && ranks == last_ranks_) return *last_;
  std::vector<RankLink> links;
  links.reserve(ranks.size());
  for (const std::uint32_t rank : ranks) links.push_back(links_[rank]);
  const auto [at, fresh] = known_.try_emplace({std::move(links), bytes});
  if (fresh) at->second = simulate(at->first.first, bytes);
  last_ranks_ = ranks;
  last_bytes_ = bytes;
  last_ = &at->second;
  return *last_;
}

AverageClock::Cost AverageClock::simulate(const std::vector<RankLink>& links, double bytes) const {
  Cost best;
  if (links.size() < 2) return best;
  const Topology topology = star(links);
  best.time_s = kNever;
  for (const char* const name : algorithms_for(links.size())) {
    const auto schedule = collective::generate(name, {.ranks = static_cast<int>(links.size())});
    if (!schedule.ok()) continue;
    ScheduleTask task{&*schedule, &topology, {}, bytes, {}, false, kMostSyncMessages};
    task.placement.vertex.resize(static_cast<std::size_t>(schedule->endpoints()));
    std::iota(task.placement.vertex.begin(), task.placement.vertex.end(), 0);
    const ScheduleTime run = run_schedule(task);
    if (run.gave_up || run.time_s >= best.time_s) continue;
    best = {name, run.time_s, run.bytes / static_cast<double>(links.size())};
  }
  CHECK_MSG(best.time_s != kNever, "no all-reduce could be timed");
  return best;
}

ShardLinks::ShardLinks(const std::vector<RankLink>& links, double bytes)
    : links_(links), part_(bytes / static_cast<double>(links.size())) {
  for (const RankLink& link : links) {
    const auto at = std::find(speeds_.begin(), speeds_.end(), link.bytes_per_s);
    speed_of_.push_back(static_cast<std::uint32_t>(at - speeds_.begin()));
    if (at == speeds_.end()) speeds_.push_back(link.bytes_per_s);
    longest_latency_ = std::max(longest_latency_, link.latency_s);
  }
  for (Direction* const direction : {&out_, &in_}) {
    direction->parts.resize(speeds_.size());
    direction->own.resize(links.size());
  }
}

Seconds ShardLinks::move(std::uint32_t rank, Seconds now, Direction& own, Direction& parts) {
  if (links_.size() < 2) return now;
  const auto ranks = static_cast<double>(links_.size());
  const std::uint32_t speed = speed_of_[rank];
  // Parts that came since the last call stand before what this rank moves now.
  Direction::Own& mine = own.own[rank];
  const Direction::Parts& others = own.parts[speed];
  const Seconds begin = std::max({now, others.free, mine.free + (others.busy - mine.seen)});
  mine.free = begin + (ranks - 1) * part_ / speeds_[speed];
  mine.seen = others.busy;
  Seconds all_there = mine.free;
  for (std::size_t i = 0; i < speeds_.size(); ++i) {
    const Seconds part = part_ / speeds_[i];
    // A rank's own shard is not on its way: of n ranks n - 1 get a part.
    parts.parts[i].free = std::max(parts.parts[i].free, now) + part * (ranks - 1) / ranks;
    parts.parts[i].busy += part;
    all_there = std::max(all_there, parts.parts[i].free);
  }
  parts.own[rank].seen += part_ / speeds_[speed];
  return all_there + (links_[rank].latency_s + longest_latency_) / 2;
}

}  // namespace weft
