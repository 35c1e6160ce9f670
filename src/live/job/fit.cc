#include "live/job/fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/quantity.h"

namespace weft::live {
namespace {

// Devices of a node that the configuration could have there; 0 on other types.
std::uint32_t room_on(const Cluster& cluster, const Node& node, TypeId type,
                      const FitQuestion& question) {
  const Configuration& c = question.configuration;
  if (node.type != type || (node.node_class == NodeClass::kSpot && !question.spot_ok)) return 0;
  const Bytes device_memory = cluster.types[type].memory;
  if (device_memory != 0 && c.device_memory > device_memory) return 0;
  std::uint64_t room = node.devices;
  if (node.cpu_milli != 0 && c.cpu_milli != 0) {
    room = std::min<std::uint64_t>(room, node.cpu_milli / c.cpu_milli);
  }
  if (node.memory != 0 && c.host_memory != 0) {
    room = std::min(room, static_cast<std::uint64_t>(node.memory / c.host_memory));
  }
  return static_cast<std::uint32_t>(room);
}

// How many gangs fit on devices of one type, counted up to `enough`. Domains of a level that
// nobody named are all 0, so that the cluster is one domain of each level.
std::uint64_t gangs_on(const Cluster& cluster, TypeId type, const FitQuestion& question,
                       std::uint64_t enough) {
  const Configuration& c = question.configuration;
  const bool whole = !c.pack_required || c.pack == Level::kCluster;
  const int level = static_cast<int>(c.pack);
  std::vector<std::uint64_t> rooms(1);
  std::uint64_t gangs = 0;
  for (const Node& node : cluster.nodes) {
    const std::uint32_t room = room_on(cluster, node, type, question);
    if (room == 0) continue;
    if (c.pack_required && c.pack == Level::kNode) {
      gangs += room / c.devices;
      if (gangs >= enough) return gangs;
      continue;
    }
    const std::size_t domain = whole ? 0 : node.domain[level];
    if (domain >= rooms.size()) rooms.resize(domain + 1);
    rooms[domain] += room;
    if (rooms[domain] / c.devices >= enough) return enough;
  }
  for (const std::uint64_t room : rooms) gangs += room / c.devices;
  return gangs;
}

std::vector<TypeId> types_of(const Cluster& cluster, TypeId type) {
  if (type != kAnyType) return {type};
  std::vector<TypeId> all(cluster.types.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<TypeId>(i);
  return all;
}

std::uint64_t most_gangs(const Cluster& cluster, const FitQuestion& question,
                         std::uint64_t enough) {
  std::uint64_t most = 0;
  for (const TypeId type : types_of(cluster, question.configuration.type)) {
    most = std::max(most, gangs_on(cluster, type, question, enough));
    if (most >= enough) break;
  }
  return most;
}

// The largest gang that fits once as asked otherwise; 0: not even one device.
std::uint32_t largest_gang(const Cluster& cluster, FitQuestion question) {
  question.replicas = 1;
  std::uint32_t low = 0, high = question.configuration.devices;
  while (low < high) {
    question.configuration.devices = (low + high + 1) / 2;
    if (fits_empty(cluster, question)) {
      low = question.configuration.devices;
    } else {
      high = question.configuration.devices - 1;
    }
  }
  return low;
}

std::string device_word(const Cluster& cluster, const Configuration& c) {
  const std::string type = c.type == kAnyType ? "device" : cluster.types[c.type].name + " device";
  return c.devices == 1 ? type : type + "s";
}

std::string asked_text(const Cluster& cluster, const FitQuestion& question) {
  const Configuration& c = question.configuration;
  constexpr const char* kWhere[] = {" on one node", " in one leaf", " in one rack", " in one pod",
                                    ""};
  std::string text;
  if (question.replicas > 1) text += fmt::format("{} replicas of ", question.replicas);
  text += fmt::format("{} {}{}", c.devices, device_word(cluster, c),
                      c.pack_required ? kWhere[static_cast<int>(c.pack)] : "");
  std::string beside;
  if (c.device_memory > 0) {
    beside += fmt::format(", {} of device memory", bytes_text(double(c.device_memory)));
  }
  if (c.cpu_milli > 0) beside += fmt::format(", {:g} cpus", c.cpu_milli / 1000.0);
  if (c.host_memory > 0) beside += fmt::format(", {} of memory", bytes_text(double(c.host_memory)));
  if (!beside.empty()) text += ", each with " + beside.substr(2);
  return text;
}

}  // namespace

bool fits_empty(const Cluster& cluster, const FitQuestion& question) {
  return most_gangs(cluster, question, question.replicas) >= question.replicas;
}

Error misfit(const Cluster& cluster, const FitQuestion& question) {
  const Configuration& c = question.configuration;
  const std::string what = fmt::format("the job asks for {}; the cluster could never give that",
                                       asked_text(cluster, question));
  const auto error = [&](std::string hint) {
    return Error{ErrorKind::kInvalidInput, what, std::move(hint)};
  };
  if (const std::uint64_t gangs = most_gangs(cluster, question, question.replicas); gangs > 0) {
    return error(fmt::format("{} such replicas would fit", gangs));
  }
  FitQuestion other = question;
  if (!question.spot_ok) {
    other.spot_ok = true;
    if (fits_empty(cluster, other)) return error("with resources.use_spot: true it would fit");
    other = question;
  }
  if (c.pack_required && c.pack != Level::kCluster) {
    other.configuration.pack = Level::kCluster;
    if (fits_empty(cluster, other)) {
      return error(
          fmt::format("the most that fits so is {}; spread more widely (num_nodes, "
                      "topology) all would fit",
                      largest_gang(cluster, question)));
    }
  }
  if (const std::uint32_t devices = largest_gang(cluster, question); devices > 0) {
    return error(fmt::format("{} such {} would fit", devices, devices == 1 ? "device" : "devices"));
  }
  other = question;
  other.configuration.cpu_milli = 0;
  other.configuration.host_memory = 0;
  if (largest_gang(cluster, other) > 0)
    return error("no node has the cpus or memory for one device");
  other.configuration.device_memory = 0;
  if (largest_gang(cluster, other) > 0) return error("no device has that much memory");
  return error("there is no such device that the job may use");
}

}  // namespace weft::live
