// Ranks and weights of jobs on the network, where they depend on who else is there.
#include <algorithm>
#include <map>

#include "fabric/job_network.h"
#include "flow/key.h"
#include "flow/rate_class.h"

namespace weft {
namespace {

// What switches commonly offer to traffic of one kind.
constexpr std::uint32_t kClasses = 8;

}  // namespace

// Device-seconds of computation for each second of sending: Crux's intensity (Cao et al., SIGCOMM
// '24). Jobs that meet on a link get different levels where that keeps most of it.
std::vector<std::uint32_t> JobNetwork::ranks_by_intensity(const std::vector<JobId>& jobs) const {
  std::vector<double> intensity;
  std::map<LinkId, std::vector<std::uint32_t>> on_link;
  for (JobId job : jobs) {
    const Member& member = members_[job];
    const auto unit = static_cast<std::uint32_t>(intensity.size());
    const double sending_s = member.demand.bytes / member.own_rate;
    intensity.push_back(member.devices * (member.demand.before + member.demand.beside) / sending_s);
    for (LinkId link : member.links) {
      std::vector<std::uint32_t>& users = on_link[link];
      if (users.empty() || users.back() != unit) users.push_back(unit);
    }
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> meetings;
  for (const auto& [unused, users] : on_link) {
    for (std::size_t i = 0; i < users.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        meetings[{users[j], users[i]}] = std::abs(intensity[users[i]] - intensity[users[j]]);
      }
    }
  }
  std::vector<Contention> pairs;
  for (const auto& [units, loss] : meetings) pairs.push_back({units.first, units.second, loss});
  return compress_levels(intensity, pairs, kClasses).of;
}

void JobNetwork::classify() {
  std::vector<JobId> jobs;
  std::vector<BandwidthShare> shares;
  for (JobId job = 0; job < members_.size(); ++job) {
    if (!members_[job].active) continue;
    jobs.push_back(job);
    shares.push_back({members_[job].guarantee, members_[job].limit});
  }
  std::vector<RateClass> classes(jobs.size());
  if (sharing_ == BandwidthSharing::kGuarantees) {
    classes = share_classes(shares);
  } else {
    const std::vector<std::uint32_t> ranks = ranks_by_intensity(jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) classes[i].rank = ranks[i];
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Member& member = members_[jobs[i]];
    if (member.rank == classes[i].rank && member.weight == classes[i].weight) continue;
    member.rank = classes[i].rank;
    member.weight = classes[i].weight;
    solver_.remove(member.stream);
    add_stream(jobs[i]);
  }
}

}  // namespace weft
