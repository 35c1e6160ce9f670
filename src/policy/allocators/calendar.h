// Who will hold which devices when, as far as believed.
#pragma once

#include <vector>

#include "policy/place.h"
#include "policy/state.h"

namespace weft {

struct Booking {
  JobId job = kNoJob;
  Allocation allocation;
  Seconds from = 0, to = 0;
};

// A place in time for a gang.
struct Window {
  Seconds earliest = 0;
  Seconds length = 0;  // believed run time
  Seconds hold = 0;    // how long the devices are booked, at least `length`
  Seconds latest_end = kNever;
  std::uint16_t configuration = 0;
};

class Calendar {
 public:
  // Requires: state and place outlive this.
  Calendar(const State& state, const Place& place) : state_(state), place_(place) {}

  void add(Booking booking) { bookings_.push_back(std::move(booking)); }
  const std::vector<Booking>& bookings() const { return bookings_; }

  // The earliest booking in the window on devices that nobody has booked meanwhile. Considers the
  // window's beginning and the ends of bookings. False if there is none.
  // Cost: O(bookings^2), and O(bookings + devices) for each time at which enough is free.
  bool find(JobId job, const Window& window, Booking& out) const;
  // True if another booking is in the way of this one at the same time.
  bool clashes(const Booking& booking) const;
  // Devices that are booked at this moment.
  double booked_at(Seconds at) const;
  // The cluster with everything taken that is booked at some time between the two.
  State taken_between(Seconds from, Seconds to) const;

 private:
  const State& state_;
  const Place& place_;
  std::vector<Booking> bookings_;
};

// Marks everything of `allocation` that is not taken yet as wholly taken.
void take_rest(Ledger& ledger, const Allocation& allocation);

}  // namespace weft
