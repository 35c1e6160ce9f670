// Hook 3 of a flow scheduler: when. Delays of periodic jobs so that their communication phases fall
// into each other's pauses (CASSINI, Rajasekaran et al., NSDI '24: circles, rotation, affinity
// graph).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace weft {

// Iteration k of a job begins no sooner than delay + k × period; a period of 0 holds nothing back
// after the delay.
struct Shift {
  Seconds delay = 0;
  Seconds period = 0;
};

// What a job asks of a link during a part of its period.
struct TrafficPhase {
  Seconds from = 0, until = 0;  // 0 <= from < until <= period
  double bytes_per_s = 0;
};

// A period rolled up: what recurs.
struct Circle {
  Seconds period = 0;
  std::vector<TrafficPhase> phases;
};

// One perimeter for circles of different periods: circle i goes round `turns[i]` times, each turn
// perimeter / turns[i] long, which is its period or up to `stretch` times more.
struct CommonPeriod {
  Seconds perimeter = 0;
  std::vector<std::uint32_t> turns;
  double stretch = 1;
};

// The shortest multiple of the longest period that stretches no other by more than `tolerance`; if
// none up to `most_turns` does, the one that stretches least. Requires: periods above 0.
CommonPeriod common_period(std::span<const Seconds> periods, double tolerance = 0.01,
                           std::uint32_t most_turns = 16);

// A link that jobs share. `circles[i]` is that of `jobs[i]`, its period perimeter / turns.
struct SharedLink {
  double bytes_per_s = 0;
  std::vector<std::uint32_t> jobs;
  std::vector<Circle> circles;
};

struct TimeShifts {
  std::vector<Seconds> delays;  // by job; 0 for jobs that share no link
  double excess = 0;            // share of the wanted bytes that the links cannot carry in time
  bool loop_free = true;        // of the affinity graph
};

// Delays that lay the circles beside each other. Where the affinity graph (jobs and the links they
// share) has no loop, each link is solved by itself and the rotations are added up along the graph;
// where it has one, all links of that part are searched together.
// Two jobs on a link: the best of all rotations by steps of perimeter / 720, in the middle of the
// widest range of equally good ones; more jobs: one after the other, repeated until none improves.
// Requires: every job index < jobs. Cost: O(720² × meetings × rounds).
TimeShifts time_shifts(std::uint32_t jobs, Seconds perimeter, std::span<const SharedLink> links);

}  // namespace weft
