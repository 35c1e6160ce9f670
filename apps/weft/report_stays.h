// The timeline of the report page as rectangles: joined where nothing changed, and of bounded
// number.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"
#include "sim/metrics.h"

namespace weft {

// One rectangle of the timeline: whole devices may reach over several nodes.
struct Stay {
  JobId job = kNoJob;
  DeviceId device = 0;
  std::uint32_t devices = 1;
  std::uint16_t milli = kWhole;
  Seconds from = 0, to = 0;

  double device_s() const { return devices * (to - from) * milli / kWhole; }
};

// The simulator ends a stay at every node and whenever its job is touched. What lies side by side
// or goes on in place becomes one rectangle here.
// Ensures: ascending by (from, device, job).  Cost: O(n log n).
std::vector<Stay> joined(const std::vector<Span>& spans);

// Moves the stays of the jobs with the least device time for each stay out of `stays`, so that at
// most `limit` are left, and returns them. Jobs stay whole, so that what the page says about a job
// that it draws is the whole truth about it.
std::vector<Stay> take_small(std::vector<Stay>& stays, size_t limit);

// One rectangle of what was out of service.
struct Absence {
  DeviceId device = 0;
  std::uint32_t devices = 1;
  Seconds from = 0, to = 0;
};

// The gaps as rectangles between `from` and `to`; if there are more than `limit`, those that took
// most device time.  Ensures: ascending by (from, device).  Cost: O(n log n).
std::vector<Absence> absences(const Cluster& cluster, const std::vector<Gap>& gaps, Seconds from,
                              Seconds to, size_t limit);

// Rows of `group` devices by `bins` of time.
struct Grid {
  size_t devices = 1, group = 1, rows = 1, bins = 1;
  Seconds origin = 0, bin_s = 1;

  // Adds the device-seconds of the stay to the cells it crosses; cell = row * bins + bin.
  void add(const Stay& stay, std::vector<double>& device_s) const;
};

// Ensures: at most `cells` cells; a row holds one device, or whole nodes where nodes are alike.
Grid grid_for(const Cluster& cluster, Seconds from, Seconds to, size_t cells);

// One letter for each cell, A (none) to _ (all) in the order of the base64url alphabet: how much of
// what the drawn jobs leave of the cell the small ones used.
std::string occupancy(const Grid& grid, const std::vector<Stay>& drawn,
                      const std::vector<Stay>& small);

}  // namespace weft
