// What a job could be given, and how fast it is believed to run there.
#include <algorithm>
#include <map>

#include "policy/allocators/choose_round.h"

namespace weft {
namespace {

std::uint32_t node_devices(const Cluster& cluster, TypeId type) {
  std::uint32_t most = 1;
  for (const Node& node : cluster.nodes) {
    if (node.type == type) most = std::max<std::uint32_t>(most, node.devices);
  }
  return most;
}

// Elastic jobs run on any configuration, with a batch size of their own where the menu has such;
// others only on what they asked for, on whichever type that names.
bool usable(const Submission& spec, std::uint16_t index, bool tuned) {
  if (!spec.elastic) return index == 0;
  return !tuned || spec.menu->configurations[index].batch == 0;
}

bool has_tuned(const JobState& job) {
  return job.report != nullptr &&
         std::any_of(job.spec->menu->configurations.begin(), job.spec->menu->configurations.end(),
                     [](const Configuration& c) { return c.batch == 0; });
}

bool power_of_two(std::uint32_t n) { return (n & (n - 1)) == 0; }

}  // namespace

void ChooseRound::add_offer(const JobState& job, std::uint16_t configuration, TypeId type,
                            std::vector<Offer>& offers) const {
  const Configuration& c = job.spec->menu->configurations[configuration];
  const std::uint32_t on_node = memory_.node_devices[type];
  // Gangs that pack without gaps: powers of two inside a node, whole nodes beyond (Sia, section
  // 3.3). What was asked for is offered as it is.
  const bool packs = c.devices <= on_node ? power_of_two(c.devices) : c.devices % on_node == 0;
  if (job.report != nullptr && c.batch == 0 && !packs) return;
  Offer offer;
  offer.configuration = configuration;
  offer.type = type;
  offer.devices = static_cast<std::int32_t>(c.devices);
  offer.gang = {static_cast<int>((c.devices + on_node - 1) / on_node), offer.devices};
  offers.push_back(offer);
}

std::vector<Offer> ChooseRound::offers_of(const JobState& job) const {
  std::vector<Offer> offers;
  const bool tuned = has_tuned(job);
  const auto& menu = job.spec->menu->configurations;
  const auto types = static_cast<TypeId>(state_.cluster().types.size());
  for (std::uint16_t i = 0; i < menu.size(); ++i) {
    if (!usable(*job.spec, i, tuned)) continue;
    for (TypeId type = 0; type < types; ++type) {
      if (menu[i].type == kAnyType || menu[i].type == type) add_offer(job, i, type, offers);
    }
  }
  for (Offer& offer : offers) offer.speed = policy_.value_->speed(state_, job, offer);
  return offers;
}

// One offer per number of devices: up to a node of the smallest kind any, then whole ones. Declared
// rates are the mean over the types, by their devices.
std::vector<Offer> ChooseRound::pooled_offers_of(const JobState& job) const {
  struct Sum {
    std::uint16_t configuration;
    double speed = 0, devices = 0;
  };
  std::map<std::uint32_t, Sum> sums;
  const bool tuned = has_tuned(job);
  const Cluster& cluster = state_.cluster();
  const auto& menu = job.spec->menu->configurations;
  for (std::uint16_t i = 0; i < menu.size(); ++i) {
    if (!usable(*job.spec, i, tuned)) continue;
    Sum& sum = sums.try_emplace(menu[i].devices, Sum{i}).first->second;
    for (TypeId type = 0; type < cluster.types.size(); ++type) {
      if (menu[i].type != kAnyType && menu[i].type != type) continue;
      const double devices = cluster.device_count(type);
      sum.speed += declared_speed(state_, job, {i, type, 1, {}, 0, 0}) * devices;
      sum.devices += devices;
    }
  }
  const std::uint32_t unit = smallest_node(cluster);
  std::vector<Offer> offers;
  for (const auto& [devices, sum] : sums) {
    Offer offer;
    offer.configuration = sum.configuration;
    offer.devices = static_cast<std::int32_t>(devices);
    offer.gang = {static_cast<int>((devices + unit - 1) / unit), offer.devices};
    offer.speed = job.report != nullptr ? policy_.value_->speed(state_, job, offer)
                                        : sum.speed / std::max(sum.devices, 1.0);
    offers.push_back(offer);
  }
  return offers;
}

ChooseMemory::Beliefs& ChooseRound::beliefs_of(const JobState& job) {
  if (memory_.node_devices.empty()) {
    for (TypeId type = 0; type < state_.cluster().types.size(); ++type) {
      memory_.node_devices.push_back(node_devices(state_.cluster(), type));
    }
  }
  ChooseMemory::Beliefs& beliefs = memory_.beliefs[job.id];
  if (!beliefs.offers.empty() && beliefs.report == job.report) return beliefs;
  beliefs.report = job.report;
  beliefs.offers = policy_.value_->blind() ? pooled_offers_of(job) : offers_of(job);
  return beliefs;
}

}  // namespace weft
