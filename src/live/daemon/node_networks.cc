#include "live/daemon/node_networks.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/child.h"
#include "base/files.h"

namespace weft::live {
namespace {

constexpr const char* kSpaces = "/run/netns";
constexpr const char* kInterface = "net0";
constexpr double kNetworkPatienceS = 20;  // for all commands of one file
constexpr std::size_t kMostNodes = 250;
// What a link may send at once, and how long a full queue takes: longer ones only add delay,
// shorter ones drop bursts.
constexpr int kLinkBurstBytes = 64 << 10;
constexpr double kLinkQueueS = 0.02;
// A sender hands over several packets as one, which a full queue drops as one: a stream that loses
// all it has under way stands still for a retransmission timeout, while another goes on.
constexpr double kQueueHolds = 32;
constexpr double kLeastTogether = 3000, kMostTogether = 65536;

std::string tag_of(const std::string& store) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const char c : store) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("weft-{:08x}", static_cast<std::uint32_t>(hash ^ (hash >> 32)));
}

std::string switch_of(const std::string& store) { return tag_of(store) + "-switch"; }

std::vector<std::string> spaces_of(const std::string& store) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kSpaces, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(tag_of(store) + "-")) names.push_back(name);
  }
  return names;
}

Status run(const std::vector<std::string>& command) {
  const auto end = run_child(command, kNetworkPatienceS);
  if (!end.ok()) return end.error();
  if (end->code == 0) return {};
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  return Error{ErrorKind::kUnsupported,
               fmt::format("`{}` ended with {}{}", text, end->code,
                           end->timed_out ? " at its deadline" : ""),
               "its message is above; leave --namespaces out to do without"};
}

// All lines by one process.
Status run_lines(const std::string& program, const std::string& space, const std::string& lines,
                 const std::string& store) {
  const std::string file = path_in(store, "network-commands");
  if (const Status written = write_file_atomically(file, lines); !written.ok()) return written;
  std::vector<std::string> command = {program};
  if (!space.empty()) command.insert(command.end(), {"-n", space});
  command.insert(command.end(), {"-batch", file});
  const Status done = run(command);
  ::unlink(file.c_str());
  return done;
}

// Towards the other nodes: classes, so that single jobs can be limited (docs/agents.md). The one
// that nobody names has all of the link.
std::string classes_of(double bytes_per_s) {
  const auto rate = std::llround(bytes_per_s);
  return fmt::format(
      "qdisc add dev {0} root handle 1: htb default fffe r2q 1000\n"
      "class add dev {0} parent 1: classid 1:ffff htb rate {1}bps burst {2} cburst {2}\n"
      "class add dev {0} parent 1:ffff classid 1:fffe htb rate {3}bps ceil {1}bps burst {2} "
      "cburst {2} quantum 3000\n"
      "qdisc add dev {0} parent 1:fffe bfifo limit {4}\n",
      kInterface, rate, kLinkBurstBytes, std::max(1LL, rate / 100),
      std::max<long long>(kLinkBurstBytes, std::llround(bytes_per_s * kLinkQueueS)));
}

// Towards the queues of both ends. Requires: bytes_per_s > 0.
std::string bites_of(double bytes_per_s) {
  const double bite =
      std::clamp(bytes_per_s * kLinkQueueS / kQueueHolds, kLeastTogether, kMostTogether);
  return fmt::format("link set {} gso_max_size {:.0f}\n", kInterface, bite);
}

std::string bucket_of(const std::string& device, double bytes_per_s) {
  return fmt::format("qdisc add dev {} root tbf rate {}bps burst {} latency {}ms\n", device,
                     std::llround(bytes_per_s), kLinkBurstBytes, std::lround(kLinkQueueS * 1000));
}

Status make_links(const std::string& store, const std::vector<NodeNetwork>& networks) {
  const std::string hub = switch_of(store);
  std::string spaces = fmt::format("netns add {}\n", hub);
  std::string links = "link add bridge0 type bridge\nlink set bridge0 up\n";
  std::string ports;
  for (std::size_t i = 0; i < networks.size(); ++i) {
    const NodeNetwork& node = networks[i];
    spaces += fmt::format("netns add {}\n", node.space);
    links += fmt::format("link add port{0} type veth peer name {1} netns {2}\n", i, kInterface,
                         node.space);
    links += fmt::format("link set port{0} master bridge0 up\n", i);
    if (node.bytes_per_s > 0) ports += bucket_of(fmt::format("port{}", i), node.bytes_per_s);
  }
  if (const Status made = run_lines("ip", "", spaces, store); !made.ok()) return made;
  if (const Status made = run_lines("ip", hub, links, store); !made.ok()) return made;
  if (!ports.empty()) {
    if (const Status made = run_lines("tc", hub, ports, store); !made.ok()) return made;
  }
  for (const NodeNetwork& node : networks) {
    std::string own = fmt::format("addr add {}/24 dev {}\nlink set lo up\nlink set {} up\n",
                                  node.address, kInterface, kInterface);
    if (node.bytes_per_s > 0) own += bites_of(node.bytes_per_s);
    if (const Status made = run_lines("ip", node.space, own, store); !made.ok()) return made;
    if (node.bytes_per_s <= 0) continue;
    const Status made = run_lines("tc", node.space, classes_of(node.bytes_per_s), store);
    if (!made.ok()) return made;
  }
  return {};
}

}  // namespace

std::vector<NodeNetwork> NodeNetworks::plan(const std::string& store, const Cluster& cluster) {
  std::vector<NodeNetwork> networks;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    networks.push_back({fmt::format("{}-{}", tag_of(store), i), kInterface,
                        fmt::format("10.88.0.{}", i + 1), cluster.nodes[i].network_bytes_per_s});
  }
  return networks;
}

Status NodeNetworks::make(const std::string& store, const std::vector<NodeNetwork>& networks) {
  if (geteuid() != 0) {
    return Error{ErrorKind::kUnsupported, "namespaces for nodes need root",
                 "leave --namespaces out: nodes then share this machine's network, and limits on "
                 "bandwidth hold for jobs of Weft's own runtime alone"};
  }
  if (networks.size() > kMostNodes) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("namespaces for {} nodes; at most {}", networks.size(), kMostNodes),
                 "leave --namespaces out"};
  }
  if (spaces_of(store).size() == networks.size() + 1) return {};  // of the daemon before
  remove(store);
  const Status made = make_links(store, networks);
  if (!made.ok()) remove(store);
  return made;
}

void NodeNetworks::remove(const std::string& store) {
  for (const std::string& name : spaces_of(store)) {
    static_cast<void>(run({"ip", "netns", "del", name}));  // its end of every cable goes with it
  }
}

}  // namespace weft::live
