// What can be set about a simulated world.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fabric/bandwidth_sharing.h"

namespace weft {

// How beliefs about durations are made.
struct EstimateMode {
  enum class Kind { kOracle, kUser, kHistory, kNoisy };
  Kind kind = Kind::kOracle;
  double sigma = 0;  // kNoisy: standard deviation of the logarithm of the factor
  std::string text() const;
};

// oracle | user | history | noisy:SIGMA
Result<EstimateMode> parse_estimates(const std::string& text);

// The way between controller and executor. All zero: everything arrives at once, once.
struct Channel {
  Seconds delay_mean = 0;  // exponential, each way; unequal delays reorder
  double loss = 0;         // of a command or an outcome; the controller asks again
  double duplication = 0;  // of an outcome or a notice
  double refusal = 0;      // of a start, stop or resize
  bool perfect() const { return delay_mean == 0 && loss == 0 && duplication == 0 && refusal == 0; }
};

// A node, or one device of it, that is out of service from `at` for `duration`. With notice, the
// controller hears of it `notice` seconds before.
struct Outage {
  Seconds at = 0;
  NodeId node = 0;
  Seconds duration = 0;
  Seconds notice = 0;
  DeviceId device = kNoDevice;  // of the node; kNoDevice: all of them
};

struct FaultOptions {
  std::vector<Outage> recorded;
  Seconds node_mtbf = 0;    // mean time between failures of one node; 0: never
  Seconds device_mtbf = 0;  // of one device
  Seconds repair_mean = 3600;
  Seconds spot_mtbf = 0;  // of one spot node: revocations
  Seconds spot_gone_mean = 1800;
  Seconds spot_notice = 120;
  // Mean time between restarts of the controller, which then has everything but what its policy
  // remembered; 0: never.
  Seconds controller_mtbf = 0;
};

struct SimOptions {
  EstimateMode estimates;
  Channel channel;
  FaultOptions faults;
  Seconds start_cost = 0;           // before the first progress of a job
  Seconds restart_cost = 0;         // before the first progress after each later start
  Seconds checkpoint_interval = 0;  // work since the last one is lost in a crash; 0: all is kept
  // With a network: how jobs share its links.
  BandwidthSharing bandwidth = BandwidthSharing::kFair;
  std::uint64_t seed = 1;
  std::uint32_t replicate = 1;  // copies of every job of the trace
  bool record_timeline = false;
  JobId watch = kNoJob;
};

}  // namespace weft
