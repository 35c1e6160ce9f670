// Sums made by switches with limited memory: what slots, losses and other jobs leave of line rate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace weft {

// How jobs share the slots of a switch.
enum class SlotSharing : std::uint8_t {
  kStatic,     // each job has its part of the slots for good
  kShared,     // any packet takes any free slot; those that find none fall back
  kExclusive,  // one job has the switch until it is done; the others fall back
};
std::string_view name_of(SlotSharing sharing);

// A switch. A slot holds the sum of one packet from each worker, from the first that comes until
// the sum has reached all workers: one round trip.
struct InNetworkSwitch {
  std::int64_t slots = 0;  // -1: more than are needed
  double payload_bytes = 1024;
  double header_bytes = 0;  // on the wire with each payload
  Seconds rtt = 0;
  double loss = 0;      // of each packet on each of its two ways
  Seconds timeout = 0;  // until a lost packet is sent again
  SlotSharing sharing = SlotSharing::kStatic;
  std::string source;  // where the numbers are from
};

// SwitchML, ATP and SHARP as published; the error names the known ones. Round trip and loss are
// those of a network, and left at 0.
Result<InNetworkSwitch> in_network_preset(const std::string& name);

// One all-reduce. All jobs start together.
struct InNetworkJob {
  int workers = 2;
  double bytes = 0;
  double line_bytes_per_s = 0;  // what the network gives a worker, headers included
  Seconds startup = 0;          // until the first byte of the sum is back, without slots in the way
  int fallback_servers = 1;     // hosts at line rate that add up what the switch does not
};

struct InNetworkOutcome {
  Seconds time_s = 0;
  double bytes_per_s = 0;             // bytes / (time - startup)
  double slot_limit_bytes_per_s = 0;  // slots x payload / RTT, without loss; infinite: no limit
  double loss_limit_bytes_per_s = 0;  // the same with timeouts in each slot's cycle
  double goodput_bytes_per_s = 0;     // of the line: less headers and what is sent again
  double fallback_bytes_per_s = 0;    // if hosts added up everything
  double fallback_share = 0;          // part of the bytes that hosts added up
  double timeouts_per_packet = 0;     // expected, for one slot's cycle
  std::string limited_by;             // "line", "slots", "loss" or "fall-back"
};

// The model, a fluid one: rates are constant until a job ends.
//  - A worker's payload flows at line rate x payload / (payload + header) x (1 - loss) at most.
//  - A slot's cycle takes one RTT, and a timeout for each time that one of its packets (each worker
//    sends one and gets one back) has to be sent again: sum over j >= 1 of 1 - (1 - loss^j)^(2w) in
//    expectation. With s slots at most s x payload / cycle flow.
//  - Hosts that add up receive from all w workers: servers / w of the goodput.
//  - Static: s is the job's part of the slots. A job takes hosts instead when they are faster.
//  - Shared: the same part f of everybody's packets finds a slot, as large as the slots allow; a
//    server then receives f + (1 - f) w packets for each packet of the sum.
//  - Exclusive: the first job has all slots; the others use hosts until they are done.
// Slots of jobs that end go to the others (shared); a static part stays unused.
// Requires: workers >= 1, rates and payload above 0, 0 <= loss < 1, fallback_servers >= 1.
std::vector<InNetworkOutcome> run_in_network(const InNetworkSwitch& sw,
                                             const std::vector<InNetworkJob>& jobs);

// Expected times that some packet of a slot's cycle is sent again.
double expected_timeouts(int workers, double loss);

}  // namespace weft
