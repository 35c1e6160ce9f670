// Coflows as data: groups of flows between the ports of one switch, each done when its last flow
// is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace weft {

using PortId = std::uint32_t;

// One flow for each pair of a source and a target with bytes to move.
struct Coflow {
  std::string name;
  Seconds arrival = 0;
  std::vector<PortId> sources, targets;  // ascending, none twice
  std::vector<double> bytes;             // sources x targets, row by row; 0: no flow
  Seconds deadline = kNever;             // after the arrival
};

// Ensures: coflows ascend by arrival; ports are below `ports`; every coflow moves at least a byte.
struct CoflowTrace {
  std::string path;
  std::uint32_t ports = 0;
  std::vector<Coflow> coflows;
};

inline constexpr std::uint32_t kMaxCoflowPorts = 4096;
inline constexpr std::uint32_t kMaxCoflows = 200'000;
inline constexpr std::uint64_t kMaxCoflowPairs = 50'000'000;  // port pairs of all coflows together
inline constexpr double kMiB = 1048576;

// The public coflow benchmark's format. First line: ports and coflows. Then a line for each coflow:
// name, arrival in ms, number of sources, sources, number of targets, targets as PORT:MiB. What a
// target receives comes in equal parts from all sources. Ports that are named twice are one.
// Ensures: every mistake of the file is told (the first ones in full), with its line.
Result<CoflowTrace> parse_coflow_trace(const std::string& path, std::string_view text);
Result<CoflowTrace> read_coflow_trace(const std::string& path);

// The same coflows, arriving `factor` times as far apart. Requires: factor > 0.
void stretch_arrivals(CoflowTrace& trace, double factor);

// What each of a coflow's ports has to move, in bytes: its sources, then its targets.
std::vector<double> port_bytes(const Coflow& coflow);
// The time the coflow takes alone: its busiest port's bytes at `bytes_per_s`.
Seconds isolated_time(const Coflow& coflow, double bytes_per_s);

}  // namespace weft
