// Synthetic coflow traces, for sizes and loads that no public trace has.
#pragma once

#include <string>

#include "fabric/coflow/coflow_trace.h"

namespace weft {

// Coflows arrive as a Poisson process. Widths and sizes are independent: the number of sources and
// of targets is log-uniform from 1 to `width`, the MiB a target receives log-normal.
struct CoflowGeneratorSpec {
  std::uint32_t ports = 50;
  std::uint32_t coflows = 200;
  double load = 0.7;        // bytes that arrive in a second, of what all uplinks can carry
  std::uint32_t width = 0;  // 0: all ports
  double median_mib = 8;    // of what a target receives
  double sigma = 2;         // of its logarithm
  std::uint64_t seed = 1;
};

// True if `text` begins with "gen:".
bool names_coflow_generator(const std::string& text);
// Reads `gen:KEY=VALUE,...` with the keys ports, coflows, load, width, median_mib, sigma and seed.
Result<CoflowGeneratorSpec> parse_coflow_generator(const std::string& text);
// The same spec gives the same trace on every platform. `bytes_per_s`: of a port, for the load.
CoflowTrace generate_coflows(const CoflowGeneratorSpec& spec, double bytes_per_s);

// Gives every coflow a deadline: its time alone, times 1 + a number drawn evenly from 0 to `slack`
// (the rule of Varys' evaluation, SIGCOMM 2014, with slack 1).
void assign_deadlines(CoflowTrace& trace, double bytes_per_s, double slack, std::uint64_t seed);

}  // namespace weft
