// The time-energy frontier of a pipeline: operations that nothing waits for run at lower clocks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pipeline/schedule.h"

namespace weft::planner {

// One way to run an operation.
struct ClockChoice {
  double clock = 1;  // MHz, or a part of the highest
  double seconds = 0;
  double joules = 0;
};

// By kind of operation and chunk; kAnyChunk where the chunk does not matter. Operations that are
// not in the table keep their own time and energy.
inline constexpr int kAnyChunk = -1;
using ClockTable = std::map<std::pair<pipeline::Kind, int>, std::vector<ClockChoice>>;

// A model where nothing was measured: at a part c of the highest clock an operation takes
// (1 - bound + bound / c) times as long, and the device draws idle + (full - idle) * c^3.
struct ClockModel {
  std::vector<double> clocks = {};  // parts, above 0 and at most 1
  double bound = 1;                 // part of the time that follows the clock
  double watts = 0;                 // at the highest clock
  double idle_watts = 0;
};
// Requires: the schedule's operations carry their times at the highest clock, the same for all of a
// kind and chunk.
ClockTable model_clocks(const pipeline::Schedule& schedule, const ClockModel& model);

// CSV with the columns do, chunk (empty: any), clock, seconds, joules. `name` is for messages.
Result<ClockTable> parse_clocks(const std::string& text, const std::string& name);

struct EnergyPoint {
  double seconds = 0;         // of one step
  double bound_joules = 0;    // the least possible if operations could change clocks midway
  double joules = 0;          // with one choice per operation
  pipeline::Schedule chosen;  // the schedule with these choices' times and energies
  std::vector<std::vector<double>> clocks;  // as the programs; 0: no choice
};

struct EnergyFrontier {
  double fastest_s = 0, fastest_joules = 0;  // everything at its fastest choice
  double cheapest_s = 0;                     // more time than this saves no energy
  std::vector<EnergyPoint> points;           // from fast to cheap
  bool stopped = false;                      // before the faster points were found
};

// Told how far the search has come (0 to 1); false stops it. What was found until then is kept.
using EnergyWatch = std::function<bool(double part)>;

// `points` of the frontier from the least time to the cheapest, evenly spaced; or those of the
// given `deadlines_s`, none beyond the cheapest. Energy is that of the operations and of waiting at
// the schedule's idle_watts. The error names what is not supported (listed transfers, offload) or a
// deadline out of reach, or that it was stopped before the first point. Requires: verify() is ok.
// Cost: see cost_curve.h.
Result<EnergyFrontier> energy_frontier(const pipeline::Schedule& schedule, const ClockTable& table,
                                       int points, const std::vector<double>& deadlines_s = {},
                                       const EnergyWatch& watch = {});

}  // namespace weft::planner
