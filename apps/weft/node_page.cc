#include "node_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/table.h"
#include "base/wrap.h"
#include "job_page.h"

namespace weft {
namespace {

using Json = nlohmann::json;

// A line for each reservation of the node.
std::string reservations(const Json& node, double now_s) {
  std::string text;
  for (const Json& row : node.value("reservations", Json::array())) {
    const std::string queue = row.at("for"), name = node.at("node");
    const double from = row.at("from_s").get<double>() - now_s;
    const double to = row.at("to_s").get<double>() - now_s;
    text += fmt::format("{}: reservation {} for {}, {} {}\n", name, row.at("number").get<int>(),
                        queue.empty() ? "nobody" : "queue " + queue,
                        from > 0 ? "in " + time_words(from) + " for" : "for another",
                        time_words(to - std::max(0.0, from)));
  }
  return text;
}

std::string node_state(const Json& node) {
  if (node.at("drained")) return "drained";
  return node.at("in_service") ? "in service" : "out of service";
}

std::string memory_words(const Json& node) {
  const double bytes = node.value("memory_bytes", 0.0);
  return bytes > 0 ? fmt::format("{} GB", three_digits(bytes * 1e-9)) : "-";
}

std::string heard_words(const Json& node) {
  if (!node.value("connected", true)) return "no agent";
  return time_words(node.value("silent_s", 0.0)) + " ago";
}

}  // namespace

std::string nodes_page(const Json& nodes, const Json& jobs) {
  struct Sum {
    double devices = 0, used = 0;
    int nodes = 0, in_service = 0;
  };
  std::map<std::string, int> jobs_on;
  for (const Json& job : jobs.at("jobs")) {
    for (const Json& node : job.at("nodes")) ++jobs_on[node.get<std::string>()];
  }
  std::map<std::string, Sum> sums;  // by type
  std::string reserved;
  Table table({"<node", "<state", "<type", "used", "of", "jobs", "memory", "last heard", "<why"});
  for (const Json& node : nodes.at("nodes")) {
    const std::string type = node.at("type"), name = node.at("node");
    const double devices = node.at("devices"), used = node.at("devices_used");
    Sum& sum = sums[type];
    sum.devices += devices;
    sum.used += used;
    ++sum.nodes;
    sum.in_service += node.at("in_service") && !node.at("drained") ? 1 : 0;
    table.row({name, node_state(node), type, fmt::format("{:g}", used),
               fmt::format("{:g}", devices), std::to_string(jobs_on[name]), memory_words(node),
               heard_words(node), node.at("why")});
    reserved += reservations(node, nodes.value("now_s", 0.0));
  }
  std::string text = table.text(kPageColumns) + "\n" + reserved;
  for (const auto& [type, sum] : sums) {
    text += fmt::format("{}: {:g} of {:g} devices used, {} of {} nodes in service\n", type,
                        sum.used, sum.devices, sum.in_service, sum.nodes);
  }
  return text;
}

}  // namespace weft
