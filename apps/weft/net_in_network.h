// The options of `weft net collective --algorithm in-network` that limit what switches can do.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "timing/choose_collective.h"
#include "timing/in_network.h"

namespace weft {

struct InNetworkOptions {
  std::string preset, packet, rtt, timeout, sharing;
  std::int64_t slots = -1;
  double loss = 0;
  int jobs = 1;
  std::vector<CLI::Option*> all;  // to see which were given

  bool given() const;
  bool given(const std::string& name) const;
};
void add_in_network_options(CLI::App& app, InNetworkOptions& options);

struct InNetworkReport {
  InNetworkSwitch sw;
  InNetworkJob job;  // each of them
  std::vector<InNetworkOutcome> outcomes;
};

// What becomes of the schedule's time under these limits. Jobs are alike, each on ports of its own
// that are as the topology's, and meet at the switches only; line rate and startup are those of the
// simulated schedule. `answer` gets the time of the slowest job.
Result<InNetworkReport> limit_in_network(const InNetworkOptions& options,
                                         const CollectiveQuestion& question,
                                         CollectiveAnswer& answer);

nlohmann::ordered_json json_of(const InNetworkReport& report);
void print(const InNetworkReport& report);

}  // namespace weft
