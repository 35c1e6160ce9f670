// Shares of a node's link for single ranks, whatever program sends: a class of the link's queue for
// each, and a mark on every packet of the rank's control group that names the class. Needs root and
// a link with a queue of classes (live/daemon/node_networks.h makes it).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace weft::live {

// Bytes per second; 0: none.
struct TrafficShare {
  double guarantee = 0, limit = 0;
};

class RankTraffic {
 public:
  RankTraffic() = default;  // of a node whose link is not ours
  RankTraffic(std::string space, std::string interface, double link_bytes_per_s)
      : space_(std::move(space)), interface_(std::move(interface)), link_(link_bytes_per_s) {}

  // Whether shares can be enforced here.
  bool works() const { return link_ > 0; }
  // Processes that are in `group` (a folder of version 2) now or later send in class `number` of
  // the link, 1 to kMostClasses. A class that is there already is changed.
  static constexpr int kMostClasses = 0xfff0;
  Status set(const std::string& group, int number, const TrafficShare& share) const;
  // Nothing is in its group any more.
  void drop(int number) const;

 private:
  Status tc(const std::string& line) const;

  std::string space_, interface_;
  double link_ = 0;
};

}  // namespace weft::live
